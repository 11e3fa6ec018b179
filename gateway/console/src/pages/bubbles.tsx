import { reasonInWords } from '@parley/shared/explain-message'
import type { ObjectPreview } from '@parley/shared/providers/outbound'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callForBlob } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Time } from '../components/basics.tsx'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { previewOf, type Said } from '../threads.ts'

/** What stands in a conversation and was not said in it. */
interface Interleaved {
  _id: string
  at: string
  content: ComponentChildren
}

/** What was said as bubbles, with a mark for each day; each leads to all that happened to its message. */
export function Bubbles({ items, interleaved }: { items: Said[]; interleaved: Interleaved[] }) {
  const all = [...items, ...interleaved].sort((one, other) => one.at.localeCompare(other.at))
  return (
    <ol class="bubbles">
      {all.map((entry, at) => (
        <li key={entry._id} class={`said ${'content' in entry ? 'aside' : sideOf(entry)}`}>
          {dayOf(entry) !== dayOf(all[at - 1]) && <p class="day">{dayOf(entry)}</p>}
          {'content' in entry ? (entry.content as ComponentChildren) : <Bubble said={entry} />}
        </li>
      ))}
    </ol>
  )
}

const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const dayOf = (entry: { at: string } | undefined): string =>
  entry === undefined ? '' : DAY.format(new Date(entry.at))

/** What nobody said stands between both sides. */
const sideOf = ({ from }: Said): string => {
  if (from === 'provider') return 'aside'
  return from === 'person' ? 'theirs' : `ours ${from}`
}

const WRONG = ['failed', 'dead']
/** What says nothing to somebody who reads a conversation. */
const UNSAID = ['handler_is_person', 'app_message', 'reaction', 'history', 'notice']

function Bubble({ said }: { said: Said }) {
  const { from, at, state, message, reason, edited } = said
  const isWrong = WRONG.includes(state)
  const author = authorOf(said)
  const isOurs = from !== 'person' && from !== 'provider' && said.through === undefined
  const why = reason === undefined || UNSAID.includes(reason) ? undefined : reasonInWords(reason)
  return (
    <>
      <div class={`bubble ${sideOf(said)}`}>
        <SaidContent said={said} />
      </div>
      <p class={isWrong ? 'under wrong' : 'under'}>
        {author && <span>{author}</span>}
        {may('read', 'messages') ? (
          <a href={hrefOf(`/messages/${encodeURIComponent(message)}`)} title="All that happened to it">
            <Time at={at} />
          </a>
        ) : (
          <Time at={at} />
        )}
        {edited && <span>edited</span>}
        {isOurs && <span>{STATES[state] ?? state}</span>}
        {!isOurs && isWrong && <span>{state}</span>}
        {why && <span>{why}</span>}
      </p>
    </>
  )
}

function authorOf({ from, by, name, through }: Said): string | undefined {
  if (through === 'app') return 'From the app'
  if (from === 'team') return by?.name ?? by?.username ?? 'Team'
  return from === 'person' ? name : AUTHORS[from]
}

const AUTHORS: Partial<Record<Said['from'], string>> = { assistant: 'Assistant', api: 'API' }
const STATES: Record<string, string> = { pending: 'waiting', claimed: 'sending', failed: 'not delivered' }

function SaidContent({ said }: { said: Said }) {
  const { text, transcript, media, template, language, variables, message, quoted } = said
  const preview = previewOf(said)
  if (said.deleted) return <span class="quiet">Deleted</span>
  return (
    <>
      {quoted && <blockquote class="quiet">{quoted.text}</blockquote>}
      {text && <Formatted text={text} />}
      {media && (media.includes('audio') ? <Audio id={message} /> : <span class="quiet">[{media}]</span>)}
      {transcript && <p class="quiet">“{transcript}”</p>}
      {template && <TemplateContent {...{ template, language, variables }} />}
      {preview && <ObjectContent preview={preview} />}
      {!text && !media && !transcript && !template && !preview && <span class="quiet">[no text]</span>}
    </>
  )
}

/** What the placeholders of a template stand for: in order, or by name. */
export type Variables = string[] | Record<string, string>

interface TemplateContentProps {
  template: string
  language: string | undefined
  variables: Variables | undefined
}

/** A template as far as it is known here: its name, and what its placeholders stand for. */
export const TemplateContent = ({ template, language, variables = [] }: TemplateContentProps) => (
  <>
    <span class="kind">
      Template {template}
      {language && ` · ${language}`}
    </span>
    {Object.keys(variables).length > 0 && (
      <ol class="variables">
        {Object.entries(variables).map(([name, value], at) => (
          <li key={name}>
            <span class="quiet">{`{{${Array.isArray(variables) ? at + 1 : name}}} `}</span>
            {value}
          </li>
        ))}
      </ol>
    )}
  </>
)

/** What was sent in a provider's own form: its kind, its link and its words. */
export const ObjectContent = ({ preview: { type, link, text } }: { preview: ObjectPreview }) => (
  <>
    <span class="kind">{type}</span>
    {link && (
      <span class="link-text">
        <Linked text={link} />
      </span>
    )}
    {text && <Formatted text={text} />}
  </>
)

const MARKS = /(\*[^*\n]+\*|_[^_\n]+_|~[^~\n]+~)/
/** What ends a sentence behind an address is none of it; nor is a bracket that was opened before it. */
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

/** The audio of a message, loaded on demand. */
export function Audio({ id }: { id: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url])
  const load = async () => setUrl(URL.createObjectURL(await callForBlob(`/rest/messages/${id}/audio`)))
  if (url === undefined)
    return (
      <Button small onClick={load}>
        Load the audio
      </Button>
    )
  // biome-ignore lint/a11y/useMediaCaption: what a person recorded has no captions
  return <audio controls src={url} />
}
