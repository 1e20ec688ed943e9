package main

import (
	"os"

	"github.com/chromedp/chromedp"
)

// flags returns the options of the browser. They send its HTTP traffic to the proxy, and
// turn off some of what the Fetch domain of a tab does not see.
func flags(proxy string) []chromedp.ExecAllocatorOption {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserAgent(agent), // robots.txt applies to this agent, so the sites must see it
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-popup-blocking", false),
		chromedp.Flag("disable-shared-workers", true),
		// A frame of another site stays in the process of its page, so that its requests
		// are seen. Do not keep secrets in the profile of such a browser.
		chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-features", "SitePerProcess,IsolateOrigins,HttpsUpgrades,NetworkTimeServiceQuerying,"+
			"OptimizationHints,Translate"),
		chromedp.Flag("no-sandbox", os.Geteuid() == 0), // the sandbox does not work for root
	)
	if proxy != "" {
		options = append(options, chromedp.ProxyServer(proxy),
			chromedp.Flag("proxy-bypass-list", "<-loopback>")) // the proxy gets loopback addresses as well
	}
	if name := os.Getenv("POLITE_CHROMIUM"); name != "" {
		options = append(options, chromedp.ExecPath(name))
	}
	return options
}
