/** A story about a given subject. Deterministic: the same request gives the same text. */

export function story(request: string): string {
  const subject = subjectOf(request) ?? 'a lighthouse keeper'
  const name = nameOf(subject)
  const values: Readonly<Record<string, string>> = { subject, name, Name: name.charAt(0).toUpperCase() + name.slice(1) }
  const unwrapped = TEMPLATE.trim().replace(/(?<!\n)\n(?!\n)/g, ' ')
  return unwrapped.replace(/\{(\w+)\}/g, (_, key: string) => values[key]!)
}

const REQUEST_CHARS_READ = 2000
const SUBJECT_CHARS_MAX = 120

/** The subject: the text after "about" or "story of", or the whole request if it is just a noun. */
function subjectOf(request: string): string | undefined {
  const line = request.slice(0, REQUEST_CHARS_READ).replace(/\s+/g, ' ').trim()
  const subject = REQUESTS.map((form) => form.exec(line)?.[1])
    .find((found) => found !== undefined)
    ?.replace(/[.?!;:](?: .*)?$/, '')
    .replace(/,? please$/i, '')
    .replace(/, (?:please|in|with|using|make|at)\b.*$/i, '')
    .replace(/^(?:my|our) /i, 'your ')
    .replace(/^(?:an?|the) /i, (article) => article.toLowerCase())
    .replace(/^["'“]|["'”]$/g, '')
  return subject === undefined || subject === '' || subject.length > SUBJECT_CHARS_MAX ? undefined : subject
}

const REQUESTS = [/\babout (.+)/i, /\b(?:story|tale|legend|fable) of (.+)/i, /^((?:an?|the|my|our)(?: [^ ]+){1,6})$/i]

/** Short name of the subject: "a knight who fears horses" becomes "the knight". */
function nameOf(subject: string): string {
  return subject.replace(/^an? /, 'the ').replace(CLAUSE, '')
}

const CLAUSE = / (?:who|whose|that|which|named|called|with|from|in|on|at|trying|living|looking) .*$/i

/**
 * The subject may be singular or plural, a person or a thing, so the text avoids pronouns and verbs that would have to agree with it.
 */
const TEMPLATE = `
Long before the harbour had a name, it had a rope. One thick, tarred rope ran from the last rock of the headland
down into the green water, and nobody alive could say what it was tied to at the other end. People dried their
washing on it. Children dared each other to walk along it, and gulls held meetings there. Then, on the first mild
morning of the year, {subject} came down the hill road with the dust of nine parishes and one very small suitcase,
stopped beside the rope, and asked politely who was looking after it. Nobody was, as it turned out. It had never
occurred to anyone that a rope might like to be looked after.

The first to find an answer was Maren, who rowed the ferry and kept the harbour book. The book was older than the
ferry, and it had two rules, both painted inside the cover in red. Nothing has happened until it is written down.
Nothing that is written down can be made not to have happened. Maren licked her pencil, turned to a clean line and
wrote: "Arrived by road, in good spirits, {name}, to look after the rope." She blew on the page, although pencil
does not need it, and shut the book with a clap. So it was settled, and {name} moved into the loft above the sail
shed, where the whole bay could be seen through a window the size of a loaf.

All that summer {name} learned the rope by heart. There was a knot at every fathom, two hundred and twelve of them
that anyone had counted and more below, and no two had been tied by the same hand. Some were so worn that they felt
like pebbles. A boy called Pip, who collected questions the way other boys collect crabs, came by each evening to
ask what was on the other end. An anchor? A wreck? A whale, fast asleep? {Name} never guessed aloud, but greased
another fathom, and tightened another knot, and let Pip call out its number, so that before the leaves turned any
place on that rope could be found in the dark, by its number alone.

The storm came in October, without manners. It took the bridge first, then the lamps along the quay, then most of
the roof of the school. Eleven boats were still out in the bay, and one after another their lights blinked and were
gone. In the ferry house Maren was writing it all down as fast as it happened. "Half past nine," she wrote. "The
boats cannot see the land, and" — but there the window burst, the candle went out, and the pencil rolled away into
the dark. Down on the headland, with the spray going over like thrown gravel, {name} took hold of the rope with
everything there was to hold with, and began to pull it tight.

A slack rope is only something in the water, but a tight one is a road. The first skipper felt it scrape along her
hull and caught it; the others found it after her, and hand over hand they started for home. Again and again a wave
tore somebody loose. It made no difference. Whoever was swept off only had to remember the number of the last knot,
shout it into the wind, and wait; and from the rocks {name} and Pip shouted back how far it was to the next.
"Forty-one!" cried a voice in the dark. "Forty-two is right beside you," came the answer, and it always was. Nobody
had to begin again from the open sea, and nobody travelled the same fathom twice.

By sunrise there were eleven boats on the shingle and eleven crews asleep in the sail shed. Maren found her pencil
under the stove. She opened the book at the place where the light had failed, looked at that last small "and" for a
moment, and went on from there: "all of them came home." Not a word was missing, and not a word stood twice. Later,
when the great ebb drew the bay down lower than anyone had ever seen it, the whole town walked out to learn what the
rope was tied to. It was not tied to anything. At the very end of it an old, old root of kelp had closed its fingers
round rope and rock together, and had simply never let go. {Name} laughed until the gulls complained. Then Maren
wrote down a name for the harbour, since it was high time that it had one, and you will find it on the charts to
this day. It is called Holdfast.
`
