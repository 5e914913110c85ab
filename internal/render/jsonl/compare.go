package jsonl

import "qsniff/internal/render"

// AppendComparison appends a line with the two sides, and a line for each difference, the most important one first.
func AppendComparison(dst []byte, x *render.Comparison) []byte {
	c := comparison{
		named:       named{schema, "comparison"},
		Interrupted: interruptionOf(&x.Run),
		Differences: uint64(len(x.Differences)),
		Equal:       []aspectName{},
		Uncompared:  []text{},
		Unkept:      x.Unkept,
	}
	for i := range x.Sides {
		c.Sides = append(c.Sides, sideOf(&x.Sides[i]))
	}
	for _, a := range x.Equal {
		c.Equal = append(c.Equal, aspectName(a.String()))
	}
	for _, s := range x.Uncompared {
		c.Uncompared = append(c.Uncompared, text(s))
	}
	dst = appendLine(dst, c)
	for i := range x.Differences {
		dst = appendLine(dst, contrastOf(&x.Differences[i], uint64(i+1)))
	}
	return dst
}

type comparison struct {
	named
	Interrupted *interruption  `json:"interrupted,omitempty" jsonschema:"how far the run came, if Ctrl-C ended it"`
	Sides       []comparedSide `json:"sides" jsonschema:"the two that were compared"`
	Differences uint64         `json:"differences" jsonschema:"lines that follow"`
	Equal       []aspectName   `json:"equal" jsonschema:"what was compared and does not differ"`
	Uncompared  []text         `json:"uncompared" jsonschema:"questions that only one side was asked"`
	Unkept      uint64         `json:"unkept" jsonschema:"fields and names that there was no room for"`
}

type comparedSide struct {
	Label     string  `json:"label" jsonschema:"what sentences call it"`
	Name      text    `json:"name" jsonschema:"as it was given"`
	Exchanges uint64  `json:"exchanges" jsonschema:"exchanges and connections"`
	Messages  uint64  `json:"messages" jsonschema:"in these"`
	First     *moment `json:"first,omitempty" jsonschema:"of its first exchange"`
	Last      *moment `json:"last,omitempty" jsonschema:"of its last message"`
}

func sideOf(s *render.ComparedSide) comparedSide {
	x := comparedSide{Label: s.Label, Name: text(s.Name), Exchanges: s.Exchanges, Messages: s.Messages}
	if s.Exchanges > 0 {
		x.First, x.Last = new(moment(s.First)), new(moment(s.Last))
	}
	return x
}

// contrast is one difference between two sides.
type contrast struct {
	named
	Rank     uint64     `json:"rank" jsonschema:"from 1; what a strict client fails at first comes first"`
	Aspect   aspectName `json:"aspect" jsonschema:"what differs"`
	Protocol string     `json:"protocol,omitempty" jsonschema:"of the message"`
	Message  text       `json:"message,omitempty" jsonschema:"type of the message that it is about"`
	What     text       `json:"what" jsonschema:"what was compared"`
	Values   []text     `json:"values" jsonschema:"of both sides, in words"`
	Text     text       `json:"text" jsonschema:"the difference in a sentence"`
	Fields   []text     `json:"fields,omitempty" jsonschema:"fields that one side lacks"`
	Only     [][]text   `json:"only,omitempty" jsonschema:"names that only the first side has, and those that only the second one has"`
	Finding  *findingID `json:"finding,omitempty" jsonschema:"that one side has"`
}

func contrastOf(d *render.Difference, rank uint64) *contrast {
	x := &contrast{
		named:    named{schema, "contrast"},
		Rank:     rank,
		Aspect:   aspectName(d.Aspect.String()),
		Protocol: d.Protocol,
		Message:  text(d.Message),
		What:     text(d.What),
		Values:   texts(d.Cells[:]),
		Text:     text(d.Text),
	}
	if len(d.Fields) > 0 {
		x.Fields = texts(d.Fields)
	}
	if len(d.Only[0])+len(d.Only[1]) > 0 {
		x.Only = [][]text{texts(d.Only[0]), texts(d.Only[1])}
	}
	if d.Finding != "" {
		x.Finding = new(findingID(d.Finding))
	}
	return x
}

// texts makes texts of the network fit for JSON.
func texts(all []string) []text {
	return transform(all, func(s *string) text { return text(*s) })
}
