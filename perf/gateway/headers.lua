-- A browser's usual request head: 623 bytes with wrk's own lines.
local headers = wrk.headers
headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
headers["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
headers["Accept-Language"] = "en-US,en;q=0.5"
headers["Accept-Encoding"] = "gzip, deflate, br, zstd"
headers["Referer"] = "http://shop.example/catalogue/list?page=3&sort=price"
headers["Cookie"] = "session=0123456789abcdef0123456789abcdef; theme=dark; consent=1; _v=17cc0a1f22334455"
headers["Authorization"] = "Bearer 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
headers["Sec-Fetch-Dest"] = "document"
headers["Sec-Fetch-Mode"] = "navigate"
headers["Sec-Fetch-Site"] = "same-origin"
headers["Cache-Control"] = "no-cache"
