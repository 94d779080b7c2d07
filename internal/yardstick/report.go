package yardstick

// Report is what was measured, in the form of the JSON document. Times are seconds, the median of the rounds; MB are 10^6 bytes.
type Report struct {
	Tool     string   `json:"tool"`
	Started  string   `json:"started"` // RFC 3339, UTC
	Seconds  float64  `json:"seconds"` // of all of it
	Server   Server   `json:"server"`
	Client   Client   `json:"client"`
	Scale    float64  `json:"scale"`
	Jobs     int      `json:"jobs"`
	Rounds   int      `json:"rounds"`
	Discards string   `json:"discards"` // where the server's COPY goes: /dev/null, or to us, who throw it away
	Tables   []Tabled `json:"tables"`
	Whole    []Job    `json:"jobs_measured"`
	Batches  []Batch  `json:"batches"`
	Disk     Disk     `json:"disk"`
	Network  Network  `json:"network"`
	Verdicts []Bound  `json:"verdicts"`
	Notes    []string `json:"notes"`
	Kept     []string `json:"kept,omitempty"` // databases and folders that stay, with Options.Keep
}

// Server is the server that was measured.
type Server struct {
	Name     string            `json:"name"` // host, port and database, for people
	Version  string            `json:"version"`
	Settings map[string]string `json:"settings"` // that decide how fast it writes
}

// Client is this machine.
type Client struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// Tabled is one table: its scans, and its restore taken apart.
type Tabled struct {
	Name       string  `json:"name"`
	Rows       int64   `json:"rows"`
	Columns    int     `json:"columns"`
	TableBytes int64   `json:"table_bytes"` // on the server, without indexes
	RowBytes   int64   `json:"row_bytes"`   // of all rows in COPY's binary format
	Scans      []Line  `json:"scans"`
	Stages     []Stage `json:"stages"`
	Total      float64 `json:"stages_total_s"`
}

// Line is a line of the report in the layout of 2009.
type Line struct {
	Name     string  `json:"name"`
	Seconds  float64 `json:"s"`
	Speedup  float64 `json:"speedup,omitempty"` // against COPY as text; 0: it is the reference, or count(*)
	TableMBs float64 `json:"table_mb_per_s"`
	KRows    float64 `json:"krows_per_s"`
	MDatums  float64 `json:"mdatums_per_s"`
}

// Stage is a load up to and with one stage. Its delta is its own part of the time, and can be negative where two measures hardly differ.
type Stage struct {
	Name        string  `json:"name"`
	Seconds     float64 `json:"s"`
	Delta       float64 `json:"delta_s"`
	RowMicros   float64 `json:"us_per_row"`
	DatumMicros float64 `json:"us_per_datum"`
}

// Job is a whole job over all tables.
type Job struct {
	Name     string             `json:"name"`
	Peer     bool               `json:"peer"`             // another program's
	Seconds  float64            `json:"s"`                // from its start to its end
	Data     float64            `json:"data_s,omitempty"` // the phase that moves rows, where the program tells
	Floor    float64            `json:"times_floor"`      // the data phase (or else the whole), in multiples of the servers' own COPY
	CPU      float64            `json:"client_cpu_s"`
	Stored   int64              `json:"stored_bytes,omitempty"`
	WAL      int64              `json:"wal_bytes,omitempty"`
	MBs      float64            `json:"rows_mb_per_s"` // bytes of rows, uncompressed
	KRows    float64            `json:"krows_per_s"`
	MDatums  float64            `json:"mdatums_per_s"`
	Waits    map[string]float64 `json:"waits,omitempty"` // shares of the server's time by wait event
	Sentence string             `json:"stages,omitempty"`
}

// Batch is one number of rows per commit.
type Batch struct {
	Rows   int   `json:"rows_per_commit"`
	Insert Speed `json:"insert"`
	Copy   Speed `json:"copy"`
}

// Speed is how fast batches of one size are written.
type Speed struct {
	RowsPerSec   float64 `json:"rows_per_s"`
	RowsNoWait   float64 `json:"rows_per_s_without_commit_wait"` // with synchronous_commit off
	CommitMillis float64 `json:"commit_wait_ms"`                 // of one commit: what synchronous_commit costs
	CommitShare  float64 `json:"commit_wait_share"`              // of the time, 0 to 1
}

// Disk is the file system of the folder where a dump would go.
type Disk struct {
	Dir         string  `json:"dir"`
	Bytes       int64   `json:"bytes"` // written and read
	Direct      bool    `json:"direct"`
	WriteMBs    float64 `json:"write_mb_per_s"` // with the fsync at the end
	ReadMBs     float64 `json:"read_mb_per_s"`
	FsyncMillis float64 `json:"fsync_ms"` // of 8 KiB appended
}

// Network is the connection to the server.
type Network struct {
	Unix       bool    `json:"unix_socket"`
	RTTMicros  float64 `json:"round_trip_us"`
	ReceiveMBs float64 `json:"receive_mb_per_s"`
	SendMBs    float64 `json:"send_mb_per_s,omitempty"` // 0: not measured, the server is older than 12
}

// Bound says what holds a job back.
type Bound struct {
	Job      string `json:"job"`
	Bound    string `json:"bound"` // scan, cpu, wal, disk, network, client, lock
	Sentence string `json:"sentence"`
}

// Load is what a measure moves: a table, or several.
type Load struct {
	Rows       int64
	Datums     int64 // rows × columns
	TableBytes int64 // on the server, without indexes
}

// Line makes a line of the 2009 layout out of the seconds that a measure took. reference is what the speed-up is against; 0: it has none.
func (l Load) Line(name string, seconds, reference float64) Line {
	line := Line{Name: name, Seconds: seconds, TableMBs: per(float64(l.TableBytes)/1e6, seconds), KRows: per(float64(l.Rows)/1e3, seconds), MDatums: per(float64(l.Datums)/1e6, seconds)}
	if reference > 0 {
		line.Speedup = per(reference, seconds)
	}
	return line
}

// line is Load.Line for one table.
func (t *Tabled) line(name string, seconds, reference float64) Line {
	return Load{t.Rows, t.Rows * int64(t.Columns), t.TableBytes}.Line(name, seconds, reference)
}

// stages makes the stages of measures that each hold all before them but for the last, the key, which is its own.
func (t *Tabled) stages(names []string, upTo []float64) {
	before := 0.0
	for i, name := range names {
		s := Stage{Name: name, Seconds: upTo[i], Delta: upTo[i] - before}
		s.RowMicros = per(s.Delta*1e6, float64(t.Rows))
		s.DatumMicros = per(s.RowMicros, float64(t.Columns))
		t.Stages = append(t.Stages, s)
		before = upTo[i]
	}
	t.Total = before
}

// per is a rate; a time too short to be measured gives none.
func per(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}
