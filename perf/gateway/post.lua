-- A POST with a body of 1 KiB.
wrk.method = "POST"
wrk.body = string.rep("z", 1024)
wrk.headers["Content-Type"] = "application/octet-stream"
