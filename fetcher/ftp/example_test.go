package ftp_test

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/fetcher/ftp"
)

// A crawler that fetches http, https and ftp.
func Example() {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.RegisterProtocol("ftp", &ftp.Transport{})
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Base: base, Schemes: []string{"ftp"}})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: t, Timeout: time.Minute}
	resp, err := client.Get("ftp://ftp.example.com/pub/README")
	if err != nil {
		log.Fatal(err) // a *fetcher.DeniedError if ftp://ftp.example.com/robots.txt disallows it
	}
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body) // an error if the file broke off
	if err != nil {
		log.Fatal(err)
	}
}
