package watch

import (
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/internal/show"
)

// stampFormat is RFC 3339 with milliseconds, in UTC.
const stampFormat = "2006-01-02T15:04:05.000Z"

// jsonView writes a JSON object a line. The names of the fields are an interface.
type jsonView struct {
	out  io.Writer
	job  string
	told time.Time
}

type jsonHead struct {
	T     string `json:"t"`
	Event string `json:"event"`
	Job   string `json:"job"`
}

type jsonProgress struct {
	jsonHead
	Phase      string             `json:"phase"`
	Paused     bool               `json:"paused,omitempty"`
	Rows       int64              `json:"rows"`
	Bytes      int64              `json:"bytes"`
	RowsTotal  *int64             `json:"rows_total"` // null: not known
	BytesTotal *int64             `json:"bytes_total"`
	ETA        *float64           `json:"eta_s"`
	Stages     []jsonStage        `json:"stages"`
	Waits      map[string]float64 `json:"waits"`
	Bottleneck string             `json:"bottleneck"`
}

type jsonStage struct {
	Stage   string  `json:"stage"`
	Busy    float64 `json:"busy_s"`
	Server  float64 `json:"server_s"` // waiting for the server
	Starved float64 `json:"starved_s"`
	Blocked float64 `json:"blocked_s"`
	Bytes   int64   `json:"bytes"`
	Rows    int64   `json:"rows"`
}

type jsonPhase struct {
	jsonHead
	State string   `json:"state"` // start, end
	Phase string   `json:"phase"`
	N     int      `json:"n"`
	Of    int      `json:"of"`
	Took  *float64 `json:"elapsed_s,omitempty"`
}

type jsonTable struct {
	jsonHead
	State string   `json:"state"` // start, end, error
	Table string   `json:"table"`
	Rows  *int64   `json:"rows,omitempty"`
	Bytes *int64   `json:"bytes,omitempty"`
	Took  *float64 `json:"elapsed_s,omitempty"`
	Error string   `json:"error,omitempty"`
}

type jsonWarning struct {
	jsonHead
	Message  string `json:"message"`
	Kind     string `json:"kind,omitempty"` // of something that could not be made
	Name     string `json:"name,omitempty"`
	SQLState string `json:"sqlstate,omitempty"`
}

type jsonCheck struct {
	jsonHead
	State   string   `json:"state"` // running, ok, warning, problem
	Check   string   `json:"check"`
	Message string   `json:"message,omitempty"`
	Details []string `json:"details,omitempty"`
	Took    *float64 `json:"elapsed_s,omitempty"`
}

type jsonSummary struct {
	jsonHead
	OK       bool    `json:"ok"`
	Rows     int64   `json:"rows"`
	Bytes    int64   `json:"bytes"`
	Took     float64 `json:"elapsed_s"`
	Tables   int     `json:"tables"`
	Done     int     `json:"tables_done"`
	Proven   int     `json:"tables_proven"`
	Warnings int     `json:"warnings"`
	Gaps     int     `json:"gaps"`
	Verdict  string  `json:"verdict"`
	Error    string  `json:"error,omitempty"`
}

type jsonLog struct {
	jsonHead
	Message string `json:"message"`
}

func (v *jsonView) head(t time.Time, event string) jsonHead {
	return jsonHead{T: t.UTC().Format(stampFormat), Event: event, Job: v.job}
}

func (v *jsonView) look(news []progress.Event, s progress.Snapshot, r progress.Rate) {
	v.job = s.Job
	for _, e := range news {
		v.event(e, s)
	}
	if s.Phase.Name != "" && !s.Finished && s.Time.Sub(v.told) >= jsonEvery {
		v.told = s.Time
		v.write(v.progress(s, r))
	}
}

func (v *jsonView) say(text string) { v.write(jsonLog{v.head(time.Now(), "log"), text}) }

func (v *jsonView) clear() {}

func (v *jsonView) write(x any) {
	line, err := json.Marshal(x)
	if err != nil { // plain structs of numbers and strings: a NaN at most
		line = []byte(`{"event":"log","message":` + strconv.QuoteToASCII(err.Error()) + `}`)
	}
	_, _ = v.out.Write(append(show.JSON(line), '\n')) // nobody is left to be told
}

func (v *jsonView) progress(s progress.Snapshot, r progress.Rate) jsonProgress {
	p := jsonProgress{jsonHead: v.head(s.Time, "progress"), Phase: s.Phase.Name, Paused: s.Paused, Rows: s.Rows, Bytes: s.Bytes,
		RowsTotal: known(s.RowsTotal), BytesTotal: known(s.BytesTotal), Stages: []jsonStage{}, Waits: waits(s.Waits), Bottleneck: r.Verdict.Bottleneck}
	if r.ETA.Known {
		p.ETA = seconds((r.ETA.Low + r.ETA.High) / 2)
	}
	for _, st := range s.Stages {
		p.Stages = append(p.Stages, jsonStage{Stage: st.Name, Busy: *seconds(st.Busy), Server: *seconds(st.Server), Starved: *seconds(st.Starved),
			Blocked: *seconds(st.Blocked), Bytes: st.Raw, Rows: st.Rows})
	}
	return p
}

func (v *jsonView) event(e progress.Event, s progress.Snapshot) {
	switch e.Kind {
	case progress.PhaseStart:
		v.write(jsonPhase{jsonHead: v.head(e.Time, "phase"), State: "start", Phase: e.Phase, N: e.N, Of: e.Of})
	case progress.PhaseEnd:
		v.write(jsonPhase{jsonHead: v.head(e.Time, "phase"), State: "end", Phase: e.Phase, N: e.N, Of: e.Of, Took: seconds(e.Took)})
	case progress.TableStart:
		v.write(jsonTable{jsonHead: v.head(e.Time, "table"), State: "start", Table: e.Table})
	case progress.TableEnd:
		v.write(jsonTable{jsonHead: v.head(e.Time, "table"), State: "end", Table: e.Table, Rows: &e.Rows, Bytes: &e.Bytes, Took: seconds(e.Took)})
	case progress.TableError:
		v.write(jsonTable{jsonHead: v.head(e.Time, "table"), State: "error", Table: e.Table, Rows: &e.Rows, Bytes: &e.Bytes, Took: seconds(e.Took), Error: errorText(e.Err)})
	case progress.Warning:
		v.write(jsonWarning{jsonHead: v.head(e.Time, "warning"), Message: e.Message})
	case progress.GapFound:
		v.write(jsonWarning{jsonHead: v.head(e.Time, "warning"), Message: e.Message, Kind: e.Gap.Kind, Name: e.Gap.Name, SQLState: e.Gap.SQLState})
	case progress.CheckChange:
		c := jsonCheck{jsonHead: v.head(e.Time, "check"), State: string(e.Check.State), Check: e.Check.Name, Message: e.Check.Text, Details: e.Check.Details}
		if e.Check.State != progress.CheckRunning {
			c.Took = seconds(e.Took)
		}
		v.write(c)
	case progress.Paused, progress.Resumed:
		v.write(v.head(e.Time, string(e.Kind)))
	case progress.Dropped:
		v.write(jsonLog{v.head(e.Time, "log"), line(e)})
	case progress.Finished:
		v.write(jsonSummary{jsonHead: v.head(e.Time, "summary"), OK: e.Err == nil && s.Gaps == 0, Rows: s.Rows, Bytes: s.Bytes, Took: *seconds(e.Took), Tables: s.Tables.Total,
			Done: s.Tables.Done, Proven: s.Tables.Proven, Warnings: s.Warnings, Gaps: s.Gaps, Verdict: s.Verdict.Sentence, Error: errorText(e.Err)})
	}
}

func known(t progress.Total) *int64 {
	if !t.Known {
		return nil
	}
	return &t.N
}

// seconds is a time in seconds, to the millisecond.
func seconds(d time.Duration) *float64 {
	s := float64(d.Round(time.Millisecond)/time.Millisecond) / 1000
	return &s
}

// waits merges the servers' shares; with two servers the names begin with whose they are.
func waits(all []progress.ServerWaits) map[string]float64 {
	m := map[string]float64{}
	for _, w := range all {
		for _, s := range w.Shares {
			name := s.Event
			if len(all) > 1 {
				name = w.Server + ":" + name
			}
			m[name] = float64(int(s.Share*1000+0.5)) / 1000
		}
	}
	return m
}
