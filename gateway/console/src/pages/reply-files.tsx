import type { AcceptedFiles } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { useEffect, useRef, useState } from 'preact/hooks'
import { callWithFile } from '../api.ts'
import { notify } from '../components/actions.tsx'
import { count, percent, rounded } from '../format.ts'
import { t } from '../language.ts'
import { messageOf } from '../problems.ts'
import type { Draft, SentFile } from '../replies.ts'
import type { Thread } from '../threads.ts'
import { wordOf } from '../words.ts'

const MOST_FILES = 10
const MIB = 1024 * 1024
/** Names that browsers have for types which providers name otherwise. */
const TYPES: Record<string, string> = {
  'audio/x-m4a': 'audio/mp4',
  'audio/m4a': 'audio/mp4',
  'audio/mp3': 'audio/mpeg',
  'image/jpg': 'image/jpeg',
}

/** A file that is on its way, or did not get there. */
interface Attached {
  key: string
  name: string
  /** How much of it has left the browser, from 0 to 1. */
  share: number
  /** Undefined while it is on its way. */
  error?: string
}

interface Attaching {
  underway: readonly Attached[]
  /** Where the pictures among the files are, in this tab, by the ids of the files. */
  pictures: ReadonlyMap<string, string>
  isBusy: boolean
  attach(files: Iterable<File>): void
  /** Ends one that is on its way. */
  dismiss(key: string): void
}

interface AttachingOptions {
  thread: Thread
  provider: Provider
  files: readonly SentFile[]
  /** Adds a file that the provider has. */
  add(file: SentFile): void
}

/** Gives files to the channel's provider as they are attached, so that a reply sends them at once. */
export function useAttaching({ thread, provider, files, add }: AttachingOptions): Attaching {
  const accepts = provider.outbound.media?.upload?.accepts ?? []
  const [underway, setUnderway] = useState<readonly Attached[]>([])
  const [pictures, setPictures] = useState<ReadonlyMap<string, string>>(new Map())
  const latest = useRef(pictures)
  latest.current = pictures
  const uploads = useRef(new Map<string, AbortController>())
  const isLeft = useRef(false)
  useEffect(
    () => () => {
      isLeft.current = true
      for (const picture of latest.current.values()) URL.revokeObjectURL(picture)
    },
    [],
  )
  const change = (key: string, to: Partial<Attached> | undefined) =>
    setUnderway((before) =>
      before.flatMap((one) => (one.key !== key ? [one] : to === undefined ? [] : [{ ...one, ...to }])),
    )
  const upload = async ({ file, key, at }: { file: File; key: string; at: number }) => {
    const contentType = TYPES[file.type] ?? file.type
    const ending = new AbortController()
    uploads.current.set(key, ending)
    try {
      const { _id, type } = await callWithFile<Pick<SentFile, '_id' | 'type'>>(
        `/rest/threads/${thread._id}/files`,
        {
          ...{ file, contentType, query: { name: file.name }, signal: ending.signal },
          onProgress: (share) => change(key, { share }),
        },
      )
      if (type === 'image' && !isLeft.current)
        setPictures((before) => new Map(before).set(_id, URL.createObjectURL(file)))
      add({ _id, type, name: file.name, bytes: file.size, at })
      change(key, undefined)
    } catch (error) {
      if (ending.signal.aborted) return
      const message = messageOf(error as Error)
      if (isLeft.current) notify(`${file.name}: ${message}`, 'bad')
      else change(key, { error: message })
    } finally {
      uploads.current.delete(key)
    }
  }
  const attach = (given: Iterable<File>) => {
    const waiting = underway.filter(({ error }) => error === undefined).length
    const room = MOST_FILES - files.length - waiting
    const now = Date.now()
    const added = [...given].map((file, at) => {
      const error =
        at >= room ? t('A reply has {count} files at most.', { count: MOST_FILES }) : refusalOf(file, accepts)
      return { file, entry: { key: crypto.randomUUID(), name: file.name, share: 0, ...(error && { error }) } }
    })
    setUnderway((before) => [...before, ...added.map(({ entry }) => entry)])
    for (const [at, { file, entry }] of added.entries())
      if (entry.error === undefined) void upload({ file, key: entry.key, at: now + at / added.length })
  }
  return {
    ...{ underway, pictures, attach },
    isBusy: underway.some(({ error }) => error === undefined),
    dismiss: (key) => {
      uploads.current.get(key)?.abort()
      change(key, undefined)
    },
  }
}

/** Why the provider does not take a file, before it is sent anywhere. */
function refusalOf(
  { type, size }: Pick<File, 'type' | 'size'>,
  accepts: readonly AcceptedFiles[],
): string | undefined {
  const rules = accepts.find(({ contentTypes }) => contentTypes.includes(TYPES[type] ?? type))
  if (rules === undefined)
    return type === ''
      ? t('is of a type that is not taken')
      : t('is of a type that is not taken: {type}', { type })
  if (size === 0) return t('is empty')
  if (size <= rules.maxBytes) return undefined
  return t('has {size} MiB; as {type} {most} are taken', {
    size: rounded(size / MIB, 1),
    type: wordOf(rules.type),
    most: count(rules.maxBytes / MIB),
  })
}

interface FilesProps {
  draft: Draft
  attaching: Attaching
  set(change: Partial<Draft>): void
}

/** The files of a reply: those that are there, those on their way, and those that are not taken. */
export function ReplyFiles({ draft: { files }, attaching, set }: FilesProps) {
  const { underway, pictures, dismiss } = attaching
  if (files.length + underway.length === 0) return null
  return (
    <ul class="reply-files" aria-label={t('Files of this reply')}>
      {files.map(({ _id, type, name, bytes }) => {
        const picture = pictures.get(_id)
        return (
          <li key={_id}>
            {picture && <img src={picture} alt="" />}
            <span class="grow">
              {name} <span class="quiet">{`${wordOf(type)}, ${sizeOf(bytes)}`}</span>
            </span>
            <button
              type="button"
              aria-label={t('Remove {name}', { name })}
              onClick={() => set({ files: files.filter((one) => one._id !== _id) })}
            >
              ✕
            </button>
          </li>
        )
      })}
      {underway.map(({ key, name, share, error }) => (
        <li key={key} class={error && 'wrong'} role={error ? 'alert' : undefined}>
          <span class="grow">
            {name} {error ?? <span class="quiet">{share < 1 ? percent(share) : t('is with Parley …')}</span>}
          </span>
          {error === undefined && (
            <progress aria-label={t('{name} is on its way', { name })} value={share} max={1} />
          )}
          <button
            type="button"
            aria-label={error ? t('Dismiss {name}', { name }) : t('Cancel {name}', { name })}
            onClick={() => dismiss(key)}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}

const sizeOf = (bytes: number): string =>
  bytes < MIB ? `${Math.max(1, Math.round(bytes / 1024))} KiB` : `${rounded(bytes / MIB, 1)} MiB`

/** Buttons that open the system's picker of files and, on what is touched, the camera. */
export function AttachButtons({ provider, attach }: { provider: Provider } & Pick<Attaching, 'attach'>) {
  const accepts = provider.outbound.media?.upload?.accepts
  if (accepts === undefined) return null
  const types = accepts.flatMap(({ contentTypes }) => contentTypes)
  const [attachLabel, cameraLabel] = [t('Files to attach'), t('A photo to attach')]
  return (
    <>
      <FileButton {...{ attach, label: attachLabel }} accept={types.join(',')} multiple>
        {t('Attach files')}
      </FileButton>
      {types.some((type) => type.startsWith('image/')) && (
        // Of some types alone, or of several at once, phones offer their gallery in place of the camera.
        <FileButton {...{ attach, label: cameraLabel }} accept="image/*" capture="environment">
          {t('Take a photo')}
        </FileButton>
      )}
    </>
  )
}

interface FileButtonProps extends Pick<Attaching, 'attach'> {
  label: string
  accept: string
  multiple?: boolean
  /** The camera on the back takes it. */
  capture?: 'environment'
  children: string
}

function FileButton({ attach, label, children, capture, ...asked }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        class="hidden"
        tabIndex={-1}
        aria-label={label}
        {...asked}
        {...(capture && { capture })}
        onChange={(event) => {
          attach(event.currentTarget.files ?? [])
          event.currentTarget.value = ''
        }}
      />
      <button
        type="button"
        class={capture ? 'button small camera' : 'button small'}
        onClick={() => input.current?.click()}
      >
        {children}
      </button>
    </>
  )
}
