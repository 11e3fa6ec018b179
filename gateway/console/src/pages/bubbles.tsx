import type { JsonObject } from '@parley/shared/json-object'
import type { Speaking } from '@parley/shared/providers/marked-up'
import type { ObjectPreview } from '@parley/shared/providers/outbound'
import { allProviders, providerNamed } from '@parley/shared/providers/registry'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { callForBlob } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Time } from '../components/basics.tsx'
import { Formatted, Linked } from '../components/formatted.tsx'
import { lazyPage } from '../components/lazy-page.tsx'
import { TemplateView } from '../components/template-view.tsx'
import { longDay } from '../format.ts'
import { t } from '../language.ts'
import { messageOf } from '../problems.ts'
import { ownReaction, type Reaction, withReactions } from '../reactions.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { type Given, type ShownTemplate, showObject, showTemplate, type Template } from '../templates.ts'
import { objectIn, previewOf, type Said } from '../threads.ts'
import { reasonOf, wordOf } from '../words.ts'

/** An entry that is shown in a conversation and is no message of it. */
interface Interleaved {
  _id: string
  at: string
  content: ComponentChildren
}

interface Shown {
  channel: Speaking
  /** Those of the channel, as far as they are known. */
  templates: readonly Template[] | undefined
  /** Undefined where nobody may reply. */
  onQuote: OnQuote | undefined
  /** The same where no reaction goes out. */
  onReact: OnReact | undefined
}

/** Something is reacted to; without an emoji the reaction is taken back. */
export type OnReact = (to: { _id: string; emoji: string }) => Promise<void>

/** Something is to be replied to. */
export type OnQuote = (quoted: { _id: string; text: string }) => void

interface BubblesProps extends Shown {
  items: Said[]
  interleaved: Interleaved[]
  /** The message that somebody has searched for. */
  sought: string | undefined
}

/** Shows messages as bubbles, with a mark for each day; each leads to the timeline of its message. */
export function Bubbles({ items: said, interleaved, sought, ...shown }: BubblesProps) {
  const { items, reactions } = withReactions(said)
  const all = [...items, ...interleaved].sort((one, other) => one.at.localeCompare(other.at))
  return (
    <ol class="bubbles">
      {all.map((entry, at) => (
        <li
          key={entry._id}
          class={`said ${'content' in entry ? 'aside' : sideOf(entry)}${isOf(entry, sought) ? ' sought' : ''}`}
          data-message={'content' in entry ? undefined : entry.message}
        >
          {dayOf(entry) !== dayOf(all[at - 1]) && <p class="day">{dayOf(entry)}</p>}
          {'content' in entry ? (
            (entry.content as ComponentChildren)
          ) : (
            <Bubble said={entry} reactions={reactions.get(entry._id) ?? []} {...shown} />
          )}
        </li>
      ))}
    </ol>
  )
}

const isOf = (entry: Said | Interleaved, message: string | undefined): boolean =>
  message !== undefined && 'message' in entry && entry.message === message

const dayOf = (entry: { at: string } | undefined): string =>
  entry === undefined ? '' : longDay(new Date(entry.at))

/** Returns the side of an entry; entries that nobody said stand between both sides. */
const sideOf = ({ from }: Said): string => {
  if (from === 'provider') return 'aside'
  return from === 'person' ? 'theirs' : `ours ${from}`
}

const WRONG = ['failed', 'dead']
/** Reasons that are not shown, since they tell a reader of the conversation nothing. */
const UNSAID = ['handler_is_person', 'app_message', 'reaction', 'history', 'notice']

function Bubble({ said, reactions, ...shown }: Shown & { said: Said; reactions: readonly Reaction[] }) {
  const { from, at, state, message, reason, edited } = said
  const isWrong = WRONG.includes(state)
  const author = authorOf(said)
  const isOurs = from !== 'person' && from !== 'provider' && said.through === undefined
  const why = reason === undefined || UNSAID.includes(reason) ? undefined : reasonOf(reason)
  return (
    <>
      <div class={`bubble ${sideOf(said)}`}>
        <SaidContent said={said} {...shown} />
      </div>
      {reactions.length > 0 && <Reactions reactions={reactions} />}
      <div class={isWrong ? 'under wrong' : 'under'}>
        {author && <span>{author}</span>}
        {may('read', 'messages') ? (
          <a href={hrefOf(`/messages/${encodeURIComponent(message)}`)} title={t('All that happened to it')}>
            <Time at={at} />
          </a>
        ) : (
          <Time at={at} />
        )}
        {edited && <span>{t('edited')}</span>}
        {isOurs && <span>{STATES[state] ?? wordOf(state)}</span>}
        {!isOurs && isWrong && <span>{wordOf(state)}</span>}
        {why && <span>{why}</span>}
        {shown.onQuote && isQuotable(said, shown.channel) && (
          <button
            type="button"
            class="link"
            aria-label={t('Quote “{text}”', { text: wordsOf(said).slice(0, LONGEST_LABEL) })}
            onClick={() => shown.onQuote?.({ _id: said._id, text: wordsOf(said).slice(0, LONGEST_QUOTE) })}
          >
            {t('Quote')}
          </button>
        )}
        {shown.onReact && isReactable(said, shown.channel) && (
          <React said={said} own={ownReaction(reactions)} onReact={shown.onReact} />
        )}
      </div>
    </>
  )
}

/** The reactions to something, each leading to all that happened to it. */
const Reactions = ({ reactions }: { reactions: readonly Reaction[] }) => (
  <ul class="reactions" aria-label={t('Reactions')}>
    {reactions.map(({ emoji, of, said }) => {
      const who = said.from === 'person' ? (said.name ?? t('The person')) : (authorOf(said) ?? t('Team'))
      const title = t('{who} reacted with {emoji}', { who, emoji })
      return (
        <li key={of} title={title}>
          {may('read', 'messages') ? (
            <a href={hrefOf(`/messages/${encodeURIComponent(said.message)}`)} aria-label={title}>
              {emoji}
            </a>
          ) : (
            emoji
          )}
        </li>
      )
    })}
  </ul>
)

export const LazyEmojiPicker = lazyPage(async () => (await import('../components/emoji-picker.tsx')).default)

interface ReactProps {
  said: Said
  /** Of the business, so far. */
  own: Reaction | undefined
  onReact: OnReact
}

/** The means to react to something, to react otherwise, and to take that back. */
function React({ said: { _id }, own, onReact }: ReactProps) {
  const [isChoosing, setChoosing] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setChoosing(false)
    button.current?.focus()
  }
  const react = async (emoji: string) => {
    close()
    try {
      await onReact({ _id, emoji })
    } catch (error) {
      notify(messageOf(error as Error), 'bad')
    }
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class="link"
        aria-expanded={isChoosing}
        onClick={() => setChoosing((before) => !before)}
      >
        {t('React')}
      </button>
      {own && (
        <button type="button" class="link" onClick={() => void react('')}>
          {t('Take {emoji} back', { emoji: own.emoji })}
        </button>
      )}
      {isChoosing && <LazyEmojiPicker onChoose={(emoji) => void react(emoji)} onClose={close} />}
    </>
  )
}

/** True if the team can react to it: the person said it, the provider knows it, and nobody took it back. */
const isReactable = ({ from, deleted, reaction }: Said, { callback }: Speaking): boolean =>
  providerNamed(callback)?.outbound.objects?.ofReaction !== undefined &&
  from === 'person' &&
  deleted === undefined &&
  reaction === undefined

const LONGEST_LABEL = 40
const LONGEST_QUOTE = 200
const QUOTABLE = ['sent', 'delivered', 'read']

/** True if a reply can quote it, as far as is known here: the provider knows it, and nobody took it back. */
const isQuotable = ({ from, state, deleted, reaction }: Said, { callback }: Speaking): boolean =>
  providerNamed(callback)?.outbound.objects !== undefined &&
  deleted === undefined &&
  reaction === undefined &&
  (from === 'person' || (from !== 'provider' && QUOTABLE.includes(state)))

/** Returns the content of a message in words. */
const wordsOf = (said: Said): string =>
  said.text ??
  said.transcript ??
  said.template ??
  previewOf(said)?.text ??
  `[${wordOf(said.media ?? previewOf(said)?.type ?? 'message')}]`

function authorOf({ from, by, name, through }: Said): string | undefined {
  if (through === 'app') return t('From the app')
  if (from === 'team') return by?.name ?? by?.username ?? t('Team')
  return from === 'person' ? name : AUTHORS[from]
}

const AUTHORS: Partial<Record<Said['from'], string>> = { assistant: t('Assistant'), api: 'API' }
const STATES: Record<string, string> = { pending: 'waiting', claimed: 'sending', failed: t('not delivered') }

function SaidContent({ said, channel, templates }: Shown & { said: Said }) {
  const { text, transcript, media, template, language = '', variables = [], more, message, quoted } = said
  const object = objectIn(said)
  const preview = object && previewOf(said)
  if (said.deleted) return <span class="quiet">{t('Deleted')}</span>
  const given = template === undefined ? undefined : { ...more, template, language, variables }
  const shownObject = object && showObject(templates, object, channel)
  return (
    <>
      {quoted && <blockquote class="quiet">{quoted.text}</blockquote>}
      {text && <Formatted text={text} />}
      {media && <Media id={message} type={media} />}
      {transcript && <p class="quiet">“{transcript}”</p>}
      {given && <TemplateContent given={given} shown={showTemplate(templates, given, channel)} />}
      {shownObject && <TemplateView preview={shownObject.preview} />}
      {preview && !shownObject && <ObjectContent preview={preview} />}
      {object && hasFile(object) && <Media id={message} type={String(object.type)} />}
      {!text && !media && !transcript && !template && !preview && <span class="quiet">{t('[no text]')}</span>}
    </>
  )
}

interface TemplateContentProps {
  given: Given
  /** The template, where it is known. */
  shown: ShownTemplate | undefined
}

/** A template as its person sees it; where it is not known, its name, and what its placeholders stand for. */
export function TemplateContent({ given: { template, language, variables }, shown }: TemplateContentProps) {
  if (shown !== undefined) return <TemplateView preview={shown.preview} />
  const values = Object.entries(variables ?? {})
  return (
    <>
      <span class="kind">
        {t('Template {name}', { name: template })}
        {language && ` · ${language}`}
      </span>
      {values.length > 0 && (
        <ol class="variables">
          {values.map(([name, value], at) => (
            <li key={name}>
              <span class="quiet">{`{{${Array.isArray(variables) ? at + 1 : name}}} `}</span>
              {String(value)}
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

/** Shows a message in a provider's own form: its kind, its link and its words. */
export const ObjectContent = ({ preview: { type, link, text } }: { preview: ObjectPreview }) => (
  <>
    {type !== 'text' && <span class="kind">{wordOf(type)}</span>}
    {link && (
      <span class="link-text">
        <Linked text={link} />
      </span>
    )}
    {text && <Formatted text={text} />}
  </>
)

/** True if an object sends a file that the provider has. */
const hasFile = (object: JsonObject): boolean =>
  allProviders().some(({ outbound }) => outbound.objects?.mediaIn(object) !== undefined)

const SHOWABLE = ['image', 'video', 'sticker', 'document']
const SHOW: Record<string, string> = {
  image: t('Show the image'),
  video: t('Show the video'),
  sticker: t('Show the sticker'),
}

/** Shows the media of a message: audio and pictures are loaded on demand, other media are named by their type. */
function Media({ id, type }: { id: string; type: string }) {
  const [loaded, setLoaded] = useState<{ url: string; contentType: string }>()
  useEffect(() => () => void (loaded && URL.revokeObjectURL(loaded.url)), [loaded])
  if (type.includes('audio')) return <Audio id={id} />
  if (!SHOWABLE.includes(type) || !may('read', 'messages')) return <span class="quiet">[{wordOf(type)}]</span>
  const load = async () => {
    const blob = await callForBlob(`/rest/messages/${id}/media`)
    setLoaded({ url: URL.createObjectURL(blob), contentType: blob.type })
  }
  if (loaded === undefined)
    return (
      <Button small onClick={load}>
        {type === 'document' ? t('Get the document') : SHOW[type]}
      </Button>
    )
  const { url, contentType } = loaded
  if (contentType.startsWith('image/'))
    return <img class="media" src={url} alt={t('The picture of this message')} />
  // biome-ignore lint/a11y/useMediaCaption: what a person filmed has no captions
  if (contentType.startsWith('video/')) return <video class="media" controls src={url} />
  return (
    <a href={url} download={`${type}-${id.slice(-8)}`}>
      {t('Save the file')}
    </a>
  )
}

/** The audio of a message, loaded on demand. */
export function Audio({ id }: { id: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url])
  const load = async () => setUrl(URL.createObjectURL(await callForBlob(`/rest/messages/${id}/audio`)))
  if (url === undefined)
    return (
      <Button small onClick={load}>
        {t('Load the audio')}
      </Button>
    )
  // biome-ignore lint/a11y/useMediaCaption: what a person recorded has no captions
  return <audio controls src={url} />
}
