import { markedUp, type Speaking } from '@parley/shared/providers/marked-up'
import { providerNamed, usualProvider } from '@parley/shared/providers/registry'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { useChannelNamed } from '../channel-named.ts'
import { Button } from '../components/actions.tsx'
import { Failure } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { Formatted } from '../components/formatted.tsx'
import { useSendKey, useSubmit } from '../components/submit.ts'
import type { ChangeDraft } from '../drafts.ts'
import { t } from '../language.ts'
import {
  type Draft,
  draftOf,
  givenTo,
  isEmpty,
  type Reply,
  type ReplyKind,
  repliesOf,
  withFile,
  withoutFile,
  withoutSent,
} from '../replies.ts'
import { sendable, showTemplate, type Template, useTemplates } from '../templates.ts'
import { previewOf, type Thread } from '../threads.ts'
import { endTyping, showTyping } from '../typing.ts'
import { wordOf } from '../words.ts'
import { LazyEmojiPicker, ObjectContent, TemplateContent } from './bubbles.tsx'
import { CannedReplies, useCannedReplies } from './canned-replies.tsx'
import { AttachButtons, ReplyFiles, useAttaching } from './reply-files.tsx'
import { TemplatePicker, TypedTemplate } from './template-picker.tsx'

const KINDS: { kind: ReplyKind; name: string }[] = [
  { kind: 'text', name: t('Text') },
  { kind: 'template', name: t('Template') },
  { kind: 'media', name: t('Media') },
]
const MEDIA = ['image', 'document', 'video', 'audio'] as const

interface ReplyProps {
  thread: Thread
  /** The draft that is stored already. */
  stored: Partial<Draft> | undefined
  setDraft: ChangeDraft<Partial<Draft>>
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
export function ReplyBox({ thread, stored, setDraft, isFirst, onSent, onNote }: ReplyProps) {
  const left = useTimeLeft(thread.serviceWindowEndsAt)
  const isOver = left !== undefined && left <= 0
  const channel = useChannelNamed(thread.channel)
  const provider = providerNamed(channel.callback) ?? usualProvider()
  const draft = useMemo(() => draftOf(stored), [stored])
  const [sentKind, setSentKind] = useState<ReplyKind>()
  const kind = draft.kind ?? sentKind ?? (isOver ? 'template' : 'text')
  const { keyOf, gone } = useSendKey()
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...draftOf(now), ...change }))
  const text = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (isFirst || draft.quoted !== undefined) text.current?.focus()
  }, [isFirst, draft.quoted?._id])
  const canned = useCannedReplies(kind === 'text' ? draft.text : '', thread)
  const isChoosing = canned.replies.length > 0
  const choose = (one: Parameters<typeof canned.filled>[0] | undefined) => {
    if (one !== undefined) set({ text: canned.filled(one) })
    text.current?.focus()
  }
  const [isPicking, setPicking] = useState(false)
  const endPicking = () => {
    setPicking(false)
    text.current?.focus()
  }
  const insert = (emoji: string) => {
    const { current: box } = text
    if (box === null) return
    box.setRangeText(emoji, box.selectionStart, box.selectionEnd, 'end')
    set({ text: box.value })
    endPicking()
  }
  const templates = useTemplates(channel, kind === 'template')
  const isTemplateKnown = templates === undefined || sendable(templates).size > 0
  const template = chosenTemplate(draft, templates)
  const isUnchosen = kind === 'template' && isTemplateKnown && template === undefined
  const replies = isUnchosen ? [] : repliesOf({ kind, draft, provider, template })
  const [reply] = replies
  const attaching = useAttaching({
    ...{ thread, provider, files: draft.files },
    add: (file) => setDraft((now) => withFile(draftOf(now), file)),
  })
  const attach = (files: Iterable<File>) => {
    if (isOver) return
    set({ kind: 'text' })
    attaching.attach(files)
  }
  useDroppedFiles(attach)
  const { busy, error, submit } = useSubmit(async () => {
    if (attaching.isBusy) return
    for (const [at, one] of replies.entries()) {
      const headers = { 'idempotency-key': keyOf([thread._id, one]) }
      await call('POST', `/rest/threads/${thread._id}/messages`, { body: one, headers })
      gone()
      // A reply that was sent is not sent again if the rest fails.
      if (at < replies.length - 1) setDraft((now) => withoutFile(draftOf(now), draft, at))
    }
    setDraft((now) => {
      const left = withoutSent(draftOf(now), { sent: draft, kind })
      return isEmpty(left) ? undefined : left
    })
    endTyping()
    // Whoever sends one template may send another.
    setSentKind(kind)
    onSent()
  })
  return (
    <form
      class="reply"
      onSubmit={submit}
      onPaste={(event) => {
        const { files, types } = event.clipboardData ?? {}
        // A copy from a document is both a text and a picture of it.
        if (files === undefined || files.length === 0 || types?.includes('text/plain')) return
        event.preventDefault()
        attach(files)
      }}
      data-passing
    >
      <div class="reply-head">
        <div class="segments">
          {KINDS.filter((one) => one.kind !== 'media' || provider.outbound.objects).map((one) => (
            <button
              key={one.kind}
              type="button"
              aria-pressed={one.kind === kind}
              disabled={isOver && one.kind !== 'template'}
              onClick={() => set({ kind: one.kind })}
            >
              {one.name}
            </button>
          ))}
          <button type="button" aria-pressed={false} onClick={onNote}>
            {t('Note')}
          </button>
        </div>
        <WindowNote left={left} />
      </div>
      {draft.quoted && kind !== 'template' && (
        <div class="quoted">
          <blockquote class="quiet">{draft.quoted.text}</blockquote>
          <button type="button" aria-label={t('Do not quote it')} onClick={() => set({ quoted: undefined })}>
            ✕
          </button>
        </div>
      )}
      {kind === 'text' && <CannedReplies choice={canned} onChoose={choose} />}
      {kind === 'text' && (
        <textarea
          ref={text}
          aria-autocomplete="list"
          aria-controls={isChoosing ? canned.id : undefined}
          aria-activedescendant={isChoosing ? `${canned.id}-${canned.at}` : undefined}
          aria-label={t('Your reply')}
          placeholder={
            isOver
              ? t('The 24 hours are over: send a template')
              : t('Write a reply; Enter sends it, / finds a canned one')
          }
          disabled={isOver}
          rows={3}
          value={draft.text}
          onInput={(event) => {
            set({ text: event.currentTarget.value })
            showTyping(thread._id)
          }}
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
      {kind === 'text' && isPicking && <LazyEmojiPicker onChoose={insert} onClose={endPicking} />}
      {kind === 'template' &&
        (isTemplateKnown ? (
          <TemplatePicker {...{ thread, provider, templates, template, draft, set }} />
        ) : (
          <TypedTemplate {...{ thread, draft, set }} />
        ))}
      {kind === 'text' && <ReplyFiles {...{ draft, attaching, set }} />}
      {kind === 'media' && <MediaFields draft={draft} set={set} />}
      <Preview
        reply={reply ?? (template && givenTo(draft, provider, template))}
        isWhole={reply !== undefined}
        {...{ channel, templates }}
      />
      <Failure error={error} />
      <div class="actions end">
        {kind === 'text' && !isOver && (
          <>
            <button
              type="button"
              class="button small"
              aria-expanded={isPicking}
              onClick={() => setPicking((before) => !before)}
            >
              {t('Emoji')}
            </button>
            <AttachButtons {...{ provider, attach }} />
          </>
        )}
        <Button type="submit" kind="primary" disabled={busy || reply === undefined || attaching.isBusy}>
          {t('Send')}
        </Button>
      </div>
    </form>
  )
}

/** Files that are dropped anywhere on the page, which the browser would else open in its place. */
function useDroppedFiles(attach: (files: Iterable<File>) => void): void {
  const latest = useRef(attach)
  latest.current = attach
  useEffect(() => {
    const isOfFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true
    const over = (event: DragEvent) => {
      if (isOfFiles(event)) event.preventDefault()
    }
    const drop = (event: DragEvent) => {
      if (!isOfFiles(event)) return
      event.preventDefault()
      latest.current(event.dataTransfer?.files ?? [])
    }
    document.addEventListener('dragover', over)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', over)
      document.removeEventListener('drop', drop)
    }
  }, [])
}

/** The one that is named, as it is in the language; undefined where it is not known. */
const chosenTemplate = (
  { template, language }: Draft,
  templates: readonly Template[] | undefined,
): Template | undefined =>
  templates?.find((one) => one.name === template && one.language === language && one.status === 'APPROVED')

const isOfChoice = ({ key, isComposing }: KeyboardEvent): boolean =>
  !isComposing && ['Escape', 'ArrowDown', 'ArrowUp', 'Enter', 'Tab'].includes(key)

interface FieldsProps {
  draft: Draft
  set(change: Partial<Draft>): void
}

const MediaFields = ({ draft, set }: FieldsProps) => (
  <div class="filters">
    <SelectField
      label={t('Kind')}
      value={draft.media}
      options={MEDIA.map((value) => ({ value, name: wordOf(value) }))}
      onChange={(media) => set({ media: media as Draft['media'] })}
    />
    <TextField
      label={t('Address')}
      type="url"
      note={t('Where the provider gets it')}
      value={draft.link}
      onChange={(link) => set({ link })}
      required
    />
    {draft.media !== 'audio' && (
      <TextField
        label={t('Caption')}
        value={draft.caption}
        onChange={(caption) => set({ caption })}
        required={false}
      />
    )}
  </div>
)

interface PreviewProps {
  reply: Reply | undefined
  /** Nothing of it is missing. */
  isWhole: boolean
  channel: Speaking
  templates: readonly Template[] | undefined
}

/** A preview of the reply, if it is more than the typed text or something else. */
function Preview({ reply, isWhole, channel, templates }: PreviewProps) {
  if (reply === undefined) return null
  const { text, template, language } = reply
  const preview = previewOf(reply)
  const written = text && markedUp(text, channel)
  if (written === text && template === undefined && preview?.link === undefined) return null
  const isTemplate = template !== undefined && language !== undefined
  const given = isTemplate ? { ...reply, template, language } : undefined
  const shown = given && showTemplate(templates, given, channel)
  return (
    <div class="preview">
      <p class="note">{t('Preview')}</p>
      <div class="bubble ours team">
        {written && <Formatted text={written} />}
        {given && <TemplateContent given={given} shown={shown} />}
        {preview && <ObjectContent preview={preview} />}
      </div>
      {isWhole && shown?.refused && <p class="field-error">{shown.refused}</p>}
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
  if (left <= 0) return <p class="note over">{t('The 24 hours are over: only templates go out')}</p>
  const minutes = Math.floor(left / 60_000)
  const hours = Math.floor(minutes / 60)
  const shown =
    hours > 0
      ? t('{hours} h {minutes} min', { hours, minutes: minutes % 60 })
      : t('{minutes} min {seconds} s', {
          minutes,
          seconds: String(Math.floor(left / 1_000) % 60).padStart(2, '0'),
        })
  return (
    <p class={hours > 0 ? 'note' : 'note over'} role="timer">
      {t('Free text for another {time}', { time: shown })}
    </p>
  )
}
