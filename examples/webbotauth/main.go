// Webbotauth is a crawler that signs its requests (Web Bot Auth), so that sites can tell it from
// others that use its name. Options.Sign is called for each request, robots.txt and redirects
// included, because a signature is valid for one authority.
//
//	openssl genpkey -algorithm ed25519 -out bot.pem
//	go run ./webbotauth -key bot.pem -serve localhost:8080     # the key directory, behind your TLS
//	go run ./webbotauth -key bot.pem -directory https://bot.example/.well-known/http-message-signatures-directory https://example.com/
//
// The signatures follow draft-ietf-webbotauth-httpsig-protocol in its text of 9 October 2026.
// The draft may change.
//
// Without DisableKeepAlives, net/http may send a request again on a new connection, with the
// same signature, which a site takes for a replay.
//
// It leaves out: the replacement of the key, which must be announced before it is used.
package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/rfc9309/polite/fetcher"
)

func main() {
	file := flag.String("key", "bot.pem", "file with the private Ed25519 key (PKCS #8, PEM)")
	serve := flag.String("serve", "", "address of the key directory to serve, instead of crawling")
	directory := flag.String("directory", "", "https URL of the key directory")
	flag.Parse()
	key, err := readKey(*file)
	if err != nil {
		log.Fatal(err)
	}
	s := &signer{key, *directory, time.Now}
	if *serve != "" {
		log.Fatal(http.ListenAndServe(*serve, s))
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableKeepAlives = true
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Base: base, Sign: s.sign})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: t, Timeout: 3 * time.Minute}
	for _, page := range flag.Args() {
		resp, err := client.Get(page)
		if err != nil {
			log.Print(err)
			continue
		}
		resp.Body.Close()
		fmt.Println(page, resp.Status)
	}
}

// readKey reads a private key.
func readKey(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not PEM", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s has no Ed25519 key", file)
	}
	return private, nil
}
