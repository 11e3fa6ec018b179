import type { ComponentChildren } from 'preact'

const MARKS = /(\*[^*\n]+\*|_[^_\n]+_|~[^~\n]+~)/
/** Punctuation that ends a sentence behind an address does not belong to it; nor does a bracket opened before it. */
const ADDRESS = /(https?:\/\/[^\s<>"“”]*[^\s<>"“”.,:;!?'’)\]}*_~])/i

/** A text with its addresses as links, which tell nobody where they were followed from. */
export const Linked = ({ text }: { text: string }) => (
  <>
    {text.split(ADDRESS).map((part, at) =>
      at % 2 === 0 ? (
        part
      ) : (
        <a key={at} href={part} target="_blank" rel="noopener noreferrer nofollow">
          {part}
        </a>
      ),
    )}
  </>
)

/** The marks of messengers for bold, italic and struck text, and the addresses in it as links. */
export const Formatted = ({ text }: { text: string }): ComponentChildren => (
  <p>
    {text
      .split(ADDRESS)
      .map((part, at) => (at % 2 === 0 ? <Marked key={at} text={part} /> : <Linked key={at} text={part} />))}
  </p>
)

const Marked = ({ text }: { text: string }) => (
  <>
    {text.split(MARKS).map((part, at) => {
      const inner = part.slice(1, -1)
      if (at % 2 === 0) return part
      if (part.startsWith('*')) return <strong key={at}>{inner}</strong>
      return part.startsWith('_') ? <em key={at}>{inner}</em> : <s key={at}>{inner}</s>
    })}
  </>
)
