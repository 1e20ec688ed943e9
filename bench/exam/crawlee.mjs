// The crawler of Crawlee's introduction, with robots.txt switched on.
import { CheerioCrawler } from '@crawlee/cheerio';

const crawler = new CheerioCrawler({
    respectRobotsTxtFile: { userAgent: 'Crawlee' },
    maxCrawlDepth: 3,
    async requestHandler({ enqueueLinks }) {
        await enqueueLinks({ strategy: 'all' });
    },
});
await crawler.run(process.argv.slice(2));
