package pg

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The keywords of libpq (PQconninfoOptions in src/interfaces/libpq/fe-connect.c), by who obeys them.
var (
	// obeyed by the driver
	driverKeywords = []string{"host", "port", "dbname", "user", "passfile", "connect_timeout", "application_name", "options", "sslmode", "sslkey", "sslcert",
		"sslcertmode", "sslrootcert", "sslnegotiation", "sslsni", "krbsrvname", "channel_binding", "require_auth", "target_session_attrs",
		"service", "servicefile", "min_protocol_version", "max_protocol_version"}
	// obeyed by us
	ourKeywords = []string{"hostaddr", "ssl_min_protocol_version", "client_encoding", "fallback_application_name"}
	// without meaning for the driver, and harmless to leave aside
	idleKeywords = []string{"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "sslcompression",
		"gssencmode", "gsslib", "gssdelegation", "load_balance_hosts"}
	// unsafe to leave aside, and unknown to the driver
	unsupportedKeywords = []string{"sslcrl", "sslcrldir", "requirepeer", "ssl_max_protocol_version", "replication", "requiressl", "scram_client_key", "scram_server_key",
		"sslkeylogfile", "oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope"}
)

var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// settings takes a connection string apart into libpq's keywords. Values are not looked at.
func settings(dsn string) (map[string]string, error) {
	if strings.ContainsRune(dsn, 0) {
		return nil, errors.New("connection string: it holds a zero byte")
	}
	for _, scheme := range []string{"postgres://", "postgresql://"} {
		if rest, ok := strings.CutPrefix(dsn, scheme); ok {
			return uriSettings(rest)
		}
	}
	switch {
	case dsn == "":
		return map[string]string{}, nil
	case anyScheme.MatchString(dsn):
		return nil, errors.New("connection string: a URI starts with postgresql:// or postgres://")
	case strings.Contains(dsn, "="):
		return keywordSettings(dsn)
	}
	return map[string]string{"dbname": dsn}, nil
}

var (
	anyScheme = regexp.MustCompile(`(?i)^\s*[a-z][a-z0-9+.-]*://`)
	userInfo  = regexp.MustCompile(`:.*@`)
)

// checkSettings refuses what must not be passed on.
func checkSettings(given map[string]string) error {
	for key, value := range given {
		switch {
		case strings.EqualFold(key, "password"), strings.EqualFold(key, "sslpassword"):
			return ErrPasswordInDSN
		case value == "":
			delete(given, key) // as in libpq: the default
		case slices.Contains(unsupportedKeywords, key):
			return fmt.Errorf("connection string: keyword %s is not supported", key)
		case key == "dbname" && (anyScheme.MatchString(value) || userInfo.MatchString(value)):
			return errors.New("connection string: the database's name looks like a URI; one starts with postgresql:// and has special characters percent-encoded")
		case key == "host" && (anyScheme.MatchString(value) || strings.LastIndex(value, "@") > 0): // a first @ is an abstract socket's
			return errors.New("connection string: the host looks like a URI; give it as the DSN instead")
		case key == "sslmode" && !slices.Contains(sslModes, value):
			return fmt.Errorf("connection string: sslmode is one of %s", strings.Join(sslModes, ", "))
		case key == "port":
			if err := checkPorts(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPorts(list string) error {
	for port := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(port, 10, 16)
		if port != "" && (err != nil || n == 0) {
			return errors.New("connection string: a port is a number from 1 to 65535")
		}
	}
	return nil
}

// driverSettings are those that the driver knows. It sends others to the server as run-time parameters.
func driverSettings(given map[string]string) map[string]string {
	known := map[string]string{}
	for key, value := range given {
		if slices.Contains(driverKeywords, key) {
			known[key] = value
		}
	}
	if addr := given["hostaddr"]; addr != "" {
		known["host"] = addr
	}
	if known["application_name"] == "" && given["fallback_application_name"] != "" {
		known["application_name"] = given["fallback_application_name"]
	}
	return known
}

// requireTLS13 obeys ssl_min_protocol_version as far as it asks for more than the driver's own minimum.
func requireTLS13(config *pgx.ConnConfig, version string) {
	if version != "TLSv1.3" {
		return
	}
	if config.TLSConfig != nil {
		config.TLSConfig.MinVersion = tls.VersionTLS13
	}
	for _, f := range config.Fallbacks {
		if f.TLSConfig != nil {
			f.TLSConfig.MinVersion = tls.VersionTLS13
		}
	}
}

// uriSettings reads what stands behind the scheme of a URI, by the rules of conninfo_uri_parse_options in fe-connect.c, which are not
// those of net/url: several hosts, each with a port, and the folder of a socket as a percent-encoded host.
func uriSettings(rest string) (map[string]string, error) {
	given := map[string]string{}
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		user, password, has := strings.Cut(rest[:i], ":")
		if has {
			given["password"] = password
		}
		if err := setDecoded(given, "user", user); err != nil {
			return nil, err
		}
		rest = rest[i+1:]
	}
	hosts, path, query := splitURI(rest)
	if given["password"] == "" && strings.Contains(hosts+path, "@") {
		return nil, errors.New("connection URI: an \"@\" in the middle; in a name write %40 for it, and %2F for a slash")
	}
	if err := uriHosts(given, hosts); err != nil {
		return nil, err
	}
	if err := setDecoded(given, "dbname", path); err != nil {
		return nil, err
	}
	if query == "" {
		return given, nil
	}
	for part := range strings.SplitSeq(query, "&") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || strings.Contains(value, "=") {
			return nil, errors.New("connection URI: each parameter behind the \"?\" is one KEYWORD=VALUE")
		}
		key, err := percentDecode(key)
		if err != nil {
			return nil, err
		}
		if key == "ssl" && value == "true" { // JDBC's
			key, value = "sslmode", "require"
		}
		if err := checkKeyword(key, "URI"); err != nil {
			return nil, err
		}
		if value == "" {
			given[key] = ""
		} else if err := setDecoded(given, key, value); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// splitURI cuts hosts/path?query.
func splitURI(s string) (hosts, path, query string) {
	s, query, _ = strings.Cut(s, "?")
	hosts, path, _ = strings.Cut(s, "/")
	return hosts, path, query
}

// uriHosts reads a comma-separated list of host:port, where a host can be an IPv6 address in brackets.
func uriHosts(given map[string]string, list string) error {
	var hosts, ports []string
	for part := range strings.SplitSeq(list, ",") {
		host, port := part, ""
		if strings.HasPrefix(part, "[") {
			address, behind, ok := strings.Cut(part[1:], "]")
			if !ok || address == "" || behind != "" && behind[0] != ':' {
				return errors.New("connection URI: an IPv6 address stands in brackets, with nothing but :PORT behind")
			}
			host, port = address, strings.TrimPrefix(behind, ":")
		} else if i := strings.IndexByte(part, ':'); i >= 0 {
			host, port = part[:i], part[i+1:]
		}
		host, err := percentDecode(host)
		if err != nil {
			return err
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	if err := checkPorts(strings.Join(ports, ",")); err != nil {
		return err
	}
	if slices.ContainsFunc(hosts, func(s string) bool { return s != "" }) {
		given["host"] = strings.Join(hosts, ",")
	}
	if slices.ContainsFunc(ports, func(s string) bool { return s != "" }) {
		given["port"] = strings.Join(ports, ",")
	}
	return nil
}

func setDecoded(given map[string]string, key, value string) (err error) {
	if value != "" {
		given[key], err = percentDecode(value)
	}
	return err
}

// percentDecode decodes %XX; a plus stays a plus.
func percentDecode(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", errors.New("connection URI: a \"%\" without two hexadecimal digits behind it")
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil || n == 0 {
			return "", errors.New("connection URI: a \"%\" without two hexadecimal digits behind it, or %00")
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), nil
}

// checkKeyword refuses what libpq does not know, without repeating it.
func checkKeyword(key, where string) error {
	if strings.EqualFold(key, "password") || strings.EqualFold(key, "sslpassword") {
		return ErrPasswordInDSN
	}
	for _, known := range [][]string{driverKeywords, ourKeywords, idleKeywords, unsupportedKeywords} {
		if slices.Contains(known, key) {
			return nil
		}
	}
	return fmt.Errorf("connection %s: it holds a keyword that is none of libpq's; a value with spaces is quoted by '", where)
}

const conninfoSpace = " \t\n\r\v\f"

// keywordSettings reads keyword=value pairs by the rules of conninfo_parse in fe-connect.c.
func keywordSettings(dsn string) (map[string]string, error) {
	given := map[string]string{}
	rest := strings.TrimLeft(dsn, conninfoSpace)
	for rest != "" {
		at := len(dsn) - len(rest) + 1
		key, after, ok := strings.Cut(rest, "=")
		key = strings.TrimRight(key, conninfoSpace)
		if !ok || key == "" || strings.ContainsAny(key, conninfoSpace) {
			return nil, fmt.Errorf("connection string: no KEYWORD=VALUE at byte %d; a value with spaces is quoted by '", at)
		}
		if err := checkKeyword(key, "string"); err != nil {
			return nil, err
		}
		value, after, err := keywordValue(strings.TrimLeft(after, conninfoSpace))
		if err != nil {
			return nil, fmt.Errorf("connection string: keyword %s: %w", key, err)
		}
		given[key] = value
		rest = strings.TrimLeft(after, conninfoSpace)
	}
	return given, nil
}

func keywordValue(s string) (value, rest string, err error) {
	quoted := strings.HasPrefix(s, "'")
	i := 0
	if quoted {
		i = 1
	}
	var b strings.Builder
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i+1 < len(s) { // libpq drops a backslash at the end
				i++
				b.WriteByte(s[i])
			}
		case quoted && c == '\'':
			return b.String(), s[i+1:], nil
		case !quoted && strings.IndexByte(conninfoSpace, c) >= 0:
			return b.String(), s[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errors.New("unterminated quoted string")
	}
	return b.String(), "", nil
}

// keywords writes settings as a keyword=value string.
func keywords(given map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	var b strings.Builder
	for key, value := range given {
		fmt.Fprintf(&b, "%s='%s' ", key, escape.Replace(value))
	}
	return b.String()
}
