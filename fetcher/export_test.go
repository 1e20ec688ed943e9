package fetcher

// ResolveWith makes t resolve the names of redirects by lookup where it has to
// resolve them itself, so that no test asks a real name server.
func ResolveWith(t *Transport, lookup lookupFunc) { t.ways.lookup = lookup }
