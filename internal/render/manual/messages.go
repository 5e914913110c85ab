package manual

import "qsniff/dissect"

// Message is one message type.
type Message struct {
	Name      string   `json:"name"`
	Protocol  string   `json:"protocol"`
	Direction string   `json:"direction"` // as in the output
	Doc       string   `json:"doc"`
	Summary   []string `json:"summary"` // names of the fields that one line shows
}

// Messages returns the message types of each protocol.
func Messages(reg *dissect.Registry) []Section[Message] {
	var all []Section[Message]
	for _, p := range reg.Protos() {
		s := Section[Message]{Name: p.Name, Doc: p.Doc}
		for _, t := range p.Types {
			m := Message{Name: t.Name, Protocol: p.Name, Direction: "request", Doc: t.Doc, Summary: []string{}}
			if t.Reply {
				m.Direction = "reply"
			}
			for _, d := range t.Summary {
				m.Summary = append(m.Summary, d.Name)
			}
			s.Rows = append(s.Rows, m)
		}
		all = append(all, s)
	}
	return all
}
