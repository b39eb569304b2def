"""The web page: server-rendered HTML over the same functions as the API; `ROUTES` in `routes`."""
