import { markedUp } from '@parley/shared/providers/marked-up'
import { providerNamed, usualProvider } from '@parley/shared/providers/registry'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { useChannelNamed } from '../channel-named.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Failure, Loading, Time } from '../components/basics.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { useDraft } from '../drafts.ts'
import { allOf } from '../format.ts'
import { rich, t } from '../language.ts'
import { type Loaded, useLoad } from '../load.ts'
import { usePresence } from '../presence.ts'
import type { Draft } from '../replies.ts'
import { may, me } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { type LiveEvent, onLive } from '../shared-stream.ts'
import { createStore, useStore } from '../store.ts'
import { useTemplates } from '../templates.ts'
import { knownBy, type Note, nameOf, objectIn, type Said, type SaidPage, type Thread } from '../threads.ts'
import { setTitle } from '../title.ts'
import { useShown } from '../unread.ts'
import { Bubbles, type OnQuote, type OnReact } from './bubbles.tsx'
import { PersonAside } from './conversation-person.tsx'
import { Sorting } from './conversation-sorting.tsx'
import { NoteBox, NoteBubble, useNotes } from './notes.tsx'
import { ReplyBox } from './reply-box.tsx'

const PAGE = 50
const PERSON_SHOWN = 'parley.person-shown'
/** True if the person's data is shown beside conversations: where there is room, or as chosen in this browser. */
const personShown = createStore(
  (localStorage.getItem(PERSON_SHOWN) ?? String(matchMedia('(width >= 90rem)').matches)) === 'true',
)

function showPerson(isShown: boolean): void {
  localStorage.setItem(PERSON_SHOWN, String(isShown))
  personShown.set(isShown)
}

interface ConversationProps {
  /** The thread's `_id`, or its `extId`. */
  id: string
  channel: string | undefined
  /** The message to scroll to first. */
  message: string | undefined
}

/** One conversation, live: what was said, who has it, and the means to reply. */
export function ConversationPane({ id, channel, message }: ConversationProps) {
  const path = `/rest/threads/${encodeURIComponent(id)}`
  const query = { channel }
  const thread: Loaded<Thread> = useLoad(
    `${path} ${channel}`,
    (signal) => call<Thread>('GET', path, { query, signal }),
    {
      everyMs: 3_000,
      live: (event) => isStored(event) && isOf(thread.data, event.data),
    },
  )
  useEffect(() => {
    setTitle(thread.data ? nameOf(thread.data) : t('Conversation'))
  }, [thread.data])
  if (thread.data === undefined)
    return thread.error ? <Failure error={thread.error} /> : <Loading lines={8} />
  return <Conversation thread={thread.data} message={message} reload={thread.reload} />
}

/** True if an event changes stored data; events that are passed on only change nothing that can be loaded. */
const isStored = ({ event }: LiveEvent): boolean => event !== 'delta' && event !== 'presence'

const isOf = (thread: Thread | undefined, data: LiveEvent['data']): boolean =>
  thread !== undefined &&
  (data.channel === undefined || data.channel === thread.channel) &&
  (data.thread === thread.extId || data.extId === thread.extId)

function Conversation({
  thread,
  message,
  reload,
}: {
  thread: Thread
  message: string | undefined
  reload(): void
}) {
  useShown(thread._id)
  const said = useSaid(thread)
  const writable = may('write', 'threads')
  const path = `/rest/threads/${thread._id}`
  // Whoever took over writes next.
  const [isTaken, setTaken] = useState(false)
  const [isNoting, setNoting] = useState(false)
  const isPersonShown = useStore(personShown)
  const [draft, setDraft] = useDraft<Partial<Draft>>(thread._id)
  const notes = useNotes(thread, (data) => isOf(thread, data))
  const change = async (body: object) => {
    await call('PATCH', path, { body })
    reload()
  }
  useEffect(() => {
    if (writable && thread.unread > 0 && !document.hidden) void change({ unread: 0 }).catch(() => undefined)
  }, [thread._id, thread.unread, writable])
  const isOurs = thread.handler === 'person'
  return (
    <section
      class={isPersonShown ? 'conversation with-person' : 'conversation'}
      aria-label={t('Conversation with {name}', { name: nameOf(thread) })}
    >
      <header class="conversation-head">
        <div class="grow">
          <a class="back" href={hrefOf('/conversations')}>
            {t('← Conversations')}
          </a>
          <h1>{nameOf(thread)}</h1>
          <p class="note line">
            {knownBy(thread).map((address) => (
              <span key={address}>{address}</span>
            ))}
            <span>{thread.channel}</span>
            {thread.task && !isPersonShown && (
              <a href={hrefOf(`/assistants/tasks/${thread.task._id}`)}>
                {t('Task {name}', { name: thread.task.name || thread.task._id })}
              </a>
            )}
            {may('read', 'messages') && (
              <a href={hrefOf(`/messages?thread=${encodeURIComponent(thread.extId)}`)}>{t('Log')}</a>
            )}
          </p>
        </div>
        <div class="actions">
          <Badge tone={isOurs ? 'warn' : 'info'}>
            {isOurs ? t('with the team') : t('with the assistant')}
          </Badge>
          {thread.handlerUntil && (
            <span class="quiet">{rich('until {time}', { time: <Time at={thread.handlerUntil} /> })}</span>
          )}
          <button
            type="button"
            class="button small"
            aria-pressed={isPersonShown}
            onClick={() => showPerson(!isPersonShown)}
          >
            {t('Person')}
          </button>
          {writable && isOurs && (
            <Button small onClick={() => change({ handler: 'assistant' })}>
              {t('Give back')}
            </Button>
          )}
        </div>
      </header>
      <Sorting thread={thread} change={change} />
      <Colleagues thread={thread} said={said.items} />
      {isPersonShown && <PersonAside thread={thread} />}
      <Talk
        {...{ thread, said, notes, message }}
        onQuote={
          writable && isOurs
            ? (quoted) => {
                setNoting(false)
                setDraft((now) => ({ ...now, kind: 'text', quoted }))
              }
            : undefined
        }
        isReactable={writable && isOurs}
      />
      {isNoting && <NoteBox thread={thread} onSaved={notes.reload} onClose={() => setNoting(false)} />}
      {writable && isOurs && !isNoting && (
        <ReplyBox
          thread={thread}
          stored={draft}
          setDraft={setDraft}
          isFirst={isTaken}
          onNote={() => setNoting(true)}
          onSent={() => {
            said.reload()
            reload()
          }}
        />
      )}
      {writable && !isOurs && !isNoting && (
        <div class="take-over">
          <p class="note">
            {t('The assistant answers. Take over to write yourself; it says nothing more then.')}
          </p>
          <Button onClick={() => setNoting(true)}>{t('Write a note')}</Button>
          <Button
            kind="primary"
            onClick={async () => {
              const isFree = thread.assignee === undefined
              await change({ handler: 'person', ...(isFree && { assignee: me.get()?._id }) })
              setTaken(true)
            }}
          >
            {t('Take over')}
          </Button>
        </div>
      )}
    </section>
  )
}

/** The colleagues who have the conversation open, and those of them who type in it. */
function Colleagues({ thread, said }: { thread: Thread; said: Said[] | undefined }) {
  const present = usePresence({ thread, isOf: (data) => isOf(thread, data), said })
  const namesOf = (isTyping: boolean) =>
    allOf(present.filter((one) => one.isTyping === isTyping).map(({ name }) => name))
  const [typing, reading] = [namesOf(true), namesOf(false)]
  return (
    <div class="colleagues" role="status">
      {typing !== '' && <strong>{t('Typing: {names}', { names: typing })}</strong>}
      {reading !== '' && <span>{t('Seen by: {names}', { names: reading })}</span>}
    </div>
  )
}

interface Conversed {
  items: Said[] | undefined
  error: Error | undefined
  previous: string | null
  older(): Promise<void>
  reload(): void
  /** The text that the model is saying at the moment. */
  typed: string | undefined
}

/** Loads the messages of a thread, oldest first: the end of it live, and older ones on demand. */
function useSaid(thread: Thread): Conversed {
  const path = `/rest/threads/${thread._id}/messages`
  const [all, setAll] = useState<ReadonlyMap<string, Said>>(new Map())
  const [previous, setPrevious] = useState<string | null>()
  const [typed, setTyped] = useState<string>()
  // A message may say less than before: what a person took over before it left was never said.
  const add = (data: Said[], { atMost = Number.POSITIVE_INFINITY } = {}) =>
    setAll((before) => {
      const read = new Set(data.map(({ message }) => message))
      const others = [...before].filter(([, { message }]) => !read.has(message))
      const isTooMuch = others.length + data.length > atMost
      return new Map([...(isTooMuch ? [] : others), ...data.map((one) => [one._id, one] as const)])
    })
  const latest = useLoad(
    path,
    async (signal) => {
      const page = await call<SaidPage>('GET', path, { query: { limit: PAGE }, signal })
      // Older messages were asked for, or can be asked for again.
      add(page.data, previous === undefined ? { atMost: 3 * PAGE } : {})
      setTyped(undefined)
      return page
    },
    { everyMs: 3_000, live: (event) => isStored(event) && isOf(thread, event.data) },
  )
  useEffect(() => {
    let text = ''
    return onLive((event) => {
      if (event.event !== 'delta' || !isOf(thread, event.data)) return
      const { data } = event
      const offset = Number(data.offset ?? 0)
      text = text.slice(0, offset) + String(data.text ?? '')
      setTyped(text)
    })
  }, [thread._id])
  const from = previous === undefined ? (latest.data?.previous ?? null) : previous
  return {
    items:
      latest.data === undefined
        ? undefined
        : [...all.values()].sort((one, other) => one.at.localeCompare(other.at)),
    error: latest.error,
    previous: from,
    async older() {
      const page = await call<SaidPage>('GET', path, { query: { limit: PAGE, before: from ?? undefined } })
      add(page.data)
      setPrevious(page.previous)
    },
    reload: latest.reload,
    typed,
  }
}

const isOfTemplate = (said: Said): boolean =>
  said.template !== undefined || objectIn(said)?.template !== undefined

/** So far back a message is looked for, in pages. */
const MOST_PAGES = 20

/** Stays at the end where somebody reads the end; goes to the message that was asked for. */
function Talk({
  thread,
  said: { items, error, previous, older, reload, typed },
  notes,
  message,
  onQuote,
  isReactable,
}: {
  thread: Thread
  said: Conversed
  notes: Loaded<Note[]>
  message: string | undefined
  onQuote: OnQuote | undefined
  isReactable: boolean
}) {
  const { channel } = thread
  const speaking = useChannelNamed(channel)
  const react: OnReact = async ({ _id: quoted, emoji }) => {
    const { name, outbound } = providerNamed(speaking.callback) ?? usualProvider()
    const body = { [name]: outbound.objects?.ofReaction?.(emoji), quoted }
    await call('POST', `/rest/threads/${thread._id}/messages`, { body })
    reload()
  }
  const templates = useTemplates(speaking, items?.some(isOfTemplate) ?? false)
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const sought = useRef(0)
  // Those before what is shown come with it.
  const from = previous === null ? '' : (items?.[0]?.at ?? '')
  const interleaved = (notes.data ?? [])
    .filter(({ at }) => at >= from)
    .map((note) => ({
      ...{ _id: note._id, at: note.at },
      content: <NoteBubble note={note} thread={thread} reload={notes.reload} />,
    }))
  const count = (items?.length ?? 0) + interleaved.length
  useEffect(() => {
    const element = box.current
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [count, typed])
  useEffect(() => {
    if (message === undefined || sought.current === MOST_PAGES || items === undefined) return
    const found = box.current?.querySelector(`[data-message="${CSS.escape(message)}"]`)
    if (found) {
      sought.current = MOST_PAGES
      isAtEnd.current = false
      found.scrollIntoView({ block: 'center' })
    } else if (previous !== null) {
      sought.current++
      // The button is there for another try.
      void older().catch(() => undefined)
    }
  }, [message, count, previous])
  if (items === undefined) return error ? <Failure error={error} /> : <Loading lines={6} />
  return (
    <ScrollRegion
      element={box}
      class="talk"
      role="log"
      label={t('What was said')}
      onScroll={({ scrollTop, scrollHeight, clientHeight }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
      }}
    >
      {previous !== null && (
        <div class="more">
          <Button small onClick={older}>
            {t('Load older')}
          </Button>
        </div>
      )}
      <Bubbles
        {...{ items, interleaved, templates, onQuote }}
        onReact={isReactable ? react : undefined}
        channel={speaking}
        sought={message}
      />
      {typed && <p class="bubble ours typed">{markedUp(typed, speaking)}</p>}
    </ScrollRegion>
  )
}
