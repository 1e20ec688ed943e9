# The spider of Scrapy's tutorial: it follows every link of the pages in a file.
import scrapy


class Spider(scrapy.Spider):
    name = "exam"

    def start_requests(self):
        with open(self.file) as f:
            for url in f.read().split():
                yield scrapy.Request(url)

    def parse(self, response):
        if isinstance(response, scrapy.http.TextResponse):
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)
