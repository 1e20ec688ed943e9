package matcher

// A Dialect says how a robots.txt file is read. The zero value is RFC 9309;
// [Google], [Draft2019] and [Koster1996] return the others. A Dialect is plain
// data: two are equal under == if and only if they read every file alike.
type Dialect struct {
	// How a line is read.
	lineMax     uint16 // bytes of a line that count; 0: all of them
	nulEnds     bool   // a NUL byte ends its line, or a target
	wideSpace   bool   // vertical tab and form feed are also white space
	halfBOM     bool   // any leading part of a UTF-8 byte order mark is skipped, and UTF-16 is not decoded
	twoWords    bool   // two words without a colon are a record
	prefixNames bool   // only the beginning of a record's name counts, as in google/robotstxt
	exactNames  bool   // misspelled names are not accepted
	blankEnds   bool   // a blank line ends a group, and a group without rules does not count

	// Which group is obeyed.
	lettersOnly bool // a token in the file ends at a digit
	wholeName   bool // the whole value of a user-agent line is the name
	firstStar   bool // of several default groups only the first counts
	firstGroup  bool // of several groups of one name only the first counts

	// How a rule is compared.
	form      form // how bytes are normalised
	literal   bool // no byte of a pattern is special
	inOrder   bool // the first rule that matches decides
	indexHTML bool // "allow: /x/index.html" also allows /x/
	noExempt  bool // /robots.txt is a path like any other
	controls  bool // a pattern with control bytes is a rule like any other
	hostFirst bool // a target without a leading slash begins with a host
	semicolon bool // a ";" ends the host of a target
}

// Google returns the dialect of the parser at github.com/google/robotstxt, as
// it behaves: rules are percent-encoded but never decoded, targets are taken as
// they are, a record name counts by its beginning, a missing colon is
// forgiven, and /robots.txt has no exemption. A ";" ends the authority of a target
// that is an absolute URL, so the path of "http://user;x@host/path" is "/;x@host/path".
// A target that is a path is not affected.
func Google() Dialect {
	return Dialect{
		lineMax: 8*2083 - 1, // its buffer holds eight URLs of the longest kind, of 2083 bytes, and a NUL byte
		nulEnds: true, wideSpace: true, halfBOM: true,
		twoWords: true, prefixNames: true, lettersOnly: true,
		form: googleForm, indexHTML: true, noExempt: true, controls: true, hostFirst: true, semicolon: true,
	}
}

// Draft2019 returns the dialect of draft-koster-rep-00 of July 2019. It is
// RFC 9309 but for the default group: of several, only the first is obeyed.
func Draft2019() Dialect {
	return Dialect{firstStar: true, form: rfcForm}
}

// Koster1996 returns the dialect of the draft "A Method for Robots Exclusion"
// of November 1996: rules are tried in the order of the file and the first
// match decides, no byte is special, every triplet but %2F is decoded, a blank
// line ends a group, the first group that has the token as its whole name is obeyed,
// and /robots.txt has no exemption.
func Koster1996() Dialect {
	return Dialect{
		exactNames: true, blankEnds: true, wholeName: true, firstGroup: true,
		form: decodedForm, literal: true, inOrder: true, noExempt: true, controls: true,
	}
}
