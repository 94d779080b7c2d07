package restore

// ReadInParts lets tables of few bytes be read back in several pieces.
func (o *Options) ReadInParts(smallest int64) { o.smallestReading = smallest }
