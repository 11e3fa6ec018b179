import { markedUp, type Speaking } from '@parley/shared/providers/marked-up'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed, usualProvider } from '@parley/shared/providers/registry'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { useChannelNamed } from '../channel-named.ts'
import { Button } from '../components/actions.tsx'
import { Failure } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { useSendKey, useSubmit } from '../components/submit.ts'
import { useDraft } from '../drafts.ts'
import { previewOf, type Thread } from '../threads.ts'
import { Formatted, ObjectContent, TemplateContent, type Variables } from './bubbles.tsx'
import { CannedReplies, useCannedReplies } from './canned-replies.tsx'

type Kind = 'text' | 'template' | 'media'

const KINDS: { kind: Kind; name: string }[] = [
  { kind: 'text', name: 'Text' },
  { kind: 'template', name: 'Template' },
  { kind: 'media', name: 'Media' },
]
const MEDIA = ['image', 'document', 'video', 'audio'] as const

/** What somebody has typed of a reply, of each kind. */
export interface Draft {
  kind?: Kind
  text: string
  template: string
  language: string
  variables: string
  media: (typeof MEDIA)[number]
  link: string
  caption: string
}

const EMPTY: Draft = {
  text: '',
  template: '',
  language: 'en_US',
  variables: '',
  media: 'image',
  link: '',
  caption: '',
}

interface ReplyProps {
  thread: Thread
  /** The text has the focus when it appears. */
  isFirst: boolean
  onSent(): void
  /** A note is to be written in its place. */
  onNote(): void
}

/**
 * Where somebody of the team replies: a text within the 24 hours, a template or media at any time that the provider lets
 * them. What they typed is there when they come back.
 */
export function ReplyBox({ thread, isFirst, onSent, onNote }: ReplyProps) {
  const left = useTimeLeft(thread.serviceWindowEndsAt)
  const isOver = left !== undefined && left <= 0
  const channel = useChannelNamed(thread.channel)
  const provider = providerNamed(channel.callback) ?? usualProvider()
  const [stored, setDraft] = useDraft<Draft>(thread._id)
  const draft = stored ?? EMPTY
  const latest = useRef(draft)
  latest.current = draft
  const [sentKind, setSentKind] = useState<Kind>()
  const kind = draft.kind ?? sentKind ?? (isOver ? 'template' : 'text')
  const { keyOf, gone } = useSendKey()
  const set = (field: keyof Draft) => (value: string) => {
    latest.current = { ...latest.current, [field]: value }
    setDraft(latest.current)
  }
  const text = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (isFirst) text.current?.focus()
  }, [isFirst])
  const canned = useCannedReplies(kind === 'text' ? draft.text : '', thread)
  const isChoosing = canned.replies.length > 0
  const choose = (one: Parameters<typeof canned.filled>[0] | undefined) => {
    if (one !== undefined) set('text')(canned.filled(one))
    text.current?.focus()
  }
  const reply = replyOf(kind, draft, provider)
  const { busy, error, submit } = useSubmit(async () => {
    if (reply === undefined) return
    const headers = { 'idempotency-key': keyOf([thread._id, reply]) }
    await call('POST', `/rest/threads/${thread._id}/messages`, { body: reply, headers })
    gone()
    // Whoever sends one template may send another.
    setSentKind(kind)
    // What was typed meanwhile is another reply.
    if (latest.current === draft) setDraft(undefined)
    onSent()
  })
  return (
    <form class="reply" onSubmit={submit} data-passing>
      <div class="reply-head">
        <div class="segments">
          {KINDS.filter((one) => one.kind !== 'media' || provider.outbound.objects).map((one) => (
            <button
              key={one.kind}
              type="button"
              aria-pressed={one.kind === kind}
              disabled={isOver && one.kind !== 'template'}
              onClick={() => set('kind')(one.kind)}
            >
              {one.name}
            </button>
          ))}
          <button type="button" aria-pressed={false} onClick={onNote}>
            Note
          </button>
        </div>
        <WindowNote left={left} />
      </div>
      {kind === 'text' && <CannedReplies choice={canned} onChoose={choose} />}
      {kind === 'text' && (
        <textarea
          ref={text}
          aria-autocomplete="list"
          aria-controls={isChoosing ? canned.id : undefined}
          aria-activedescendant={isChoosing ? `${canned.id}-${canned.at}` : undefined}
          aria-label="Your reply"
          placeholder={
            isOver
              ? 'The 24 hours are over: send a template'
              : 'Write a reply; Enter sends it, / finds a canned one'
          }
          disabled={isOver}
          rows={3}
          value={draft.text}
          onInput={(event) => set('text')(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (isChoosing && isOfChoice(event)) {
              event.preventDefault()
              if (event.key === 'Escape') canned.close()
              else if (event.key.startsWith('Arrow')) canned.move(event.key === 'ArrowDown' ? 1 : -1)
              else choose(canned.replies[canned.at])
            } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) void submit(event)
          }}
        />
      )}
      {kind === 'template' && <TemplateFields draft={draft} set={set} />}
      {kind === 'media' && <MediaFields draft={draft} set={set} />}
      {reply !== undefined && <Preview reply={reply} channel={channel} />}
      <Failure error={error} />
      <div class="actions end">
        <Button type="submit" kind="primary" disabled={busy || reply === undefined}>
          Send
        </Button>
      </div>
    </form>
  )
}

const isOfChoice = ({ key, isComposing }: KeyboardEvent): boolean =>
  !isComposing && ['Escape', 'ArrowDown', 'ArrowUp', 'Enter', 'Tab'].includes(key)

interface FieldsProps {
  draft: Draft
  set(field: keyof Draft): (value: string) => void
}

const TemplateFields = ({ draft, set }: FieldsProps) => (
  <div class="filters">
    <TextField label="Template" value={draft.template} onChange={set('template')} required />
    <TextField label="Language" value={draft.language} onChange={set('language')} required />
    <AreaField
      label="Variables"
      note="One on each line; name = value where the template has names"
      rows={2}
      value={draft.variables}
      onChange={set('variables')}
      required={false}
    />
  </div>
)

const MediaFields = ({ draft, set }: FieldsProps) => (
  <div class="filters">
    <SelectField
      label="Kind"
      value={draft.media}
      options={MEDIA.map((value) => ({ value, name: value }))}
      onChange={set('media')}
    />
    <TextField
      label="Address"
      type="url"
      note="Where the provider gets it"
      value={draft.link}
      onChange={set('link')}
      required
    />
    {draft.media !== 'audio' && (
      <TextField label="Caption" value={draft.caption} onChange={set('caption')} required={false} />
    )}
  </div>
)

interface Reply {
  text?: string
  template?: string
  language?: string
  variables?: Variables
  /** An object of the provider's own, under its name. */
  [provider: string]: unknown
}

const NAMED = /^\s*([a-z][a-z0-9_]*)\s*=\s*(\S.*?)\s*$/

/** The lines in order, or by name where each has one. */
function variablesOf(text: string): Variables {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const pairs = lines.flatMap((line) => {
    const [, name, value] = NAMED.exec(line) ?? []
    return name === undefined ? [] : [[name, value ?? '']]
  })
  return pairs.length > 0 && pairs.length === lines.length ? Object.fromEntries(pairs) : lines
}

/** Undefined while something is missing. */
function replyOf(
  kind: Kind,
  { text, template, language, variables, media, link, caption }: Draft,
  { name, outbound: { objects } }: Provider,
): Reply | undefined {
  if (kind === 'text') return text.trim() === '' ? undefined : { text }
  if (kind === 'template') {
    if (template.trim() === '' || language.trim() === '') return undefined
    return { template: template.trim(), language: language.trim(), variables: variablesOf(variables) }
  }
  if (objects === undefined || !/^https?:\/\/\S+$/.test(link)) return undefined
  return { [name]: objects.ofMedia({ type: media, link, ...(caption !== '' && { caption }) }) }
}

/** What is sent, where that is more or something else than what was typed. */
function Preview({ reply, channel }: { reply: Reply; channel: Speaking }) {
  const { text, template, language, variables } = reply
  const preview = previewOf(reply)
  const written = text && markedUp(text, channel)
  if (written === text && template === undefined && preview === undefined) return null
  return (
    <div class="preview">
      <p class="note">Preview</p>
      <div class="bubble ours team">
        {written && <Formatted text={written} />}
        {template && <TemplateContent {...{ template, language, variables }} />}
        {preview && <ObjectContent preview={preview} />}
      </div>
    </div>
  )
}

const TICK_MS = 1_000

/** Milliseconds until the 24 hours end; undefined where that is not known. */
function useTimeLeft(endsAt: string | null): number | undefined {
  const [, setTick] = useState(0)
  useEffect(() => {
    if (endsAt === null) return
    const timer = setInterval(() => setTick((before) => before + 1), TICK_MS)
    return () => clearInterval(timer)
  }, [endsAt])
  return endsAt === null ? undefined : new Date(endsAt).getTime() - Date.now()
}

function WindowNote({ left }: { left: number | undefined }) {
  if (left === undefined) return null
  if (left <= 0) return <p class="note over">The 24 hours are over: only templates go out</p>
  const minutes = Math.floor(left / 60_000)
  const hours = Math.floor(minutes / 60)
  const shown =
    hours > 0
      ? `${hours} h ${minutes % 60} min`
      : `${minutes} min ${String(Math.floor(left / 1_000) % 60).padStart(2, '0')} s`
  return (
    <p class={hours > 0 ? 'note' : 'note over'} role="timer">
      {`Free text for another ${shown}`}
    </p>
  )
}
