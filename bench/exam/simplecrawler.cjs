// simplecrawler crawls one host at a time, so each start page has a crawler.
const Crawler = require('simplecrawler');

for (const page of process.argv.slice(2)) {
    const crawler = new Crawler(page);
    crawler.userAgent = 'simplecrawler/1.1 (+https://www.npmjs.com/package/simplecrawler)';
    crawler.filterByDomain = false;
    crawler.maxDepth = 3;
    crawler.interval = 10;
    crawler.start();
}
