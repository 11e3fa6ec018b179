import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { exactTime, relativeTime, shortTime } from '../format.ts'
import { rich, t } from '../language.ts'
import { fieldsOf, messageOf } from '../problems.ts'
import { hrefOf } from '../router.ts'
import { setTitle } from '../title.ts'
import { wordOf } from '../words.ts'
import { ScrollRegion } from './scroll-region.tsx'

const PATHS = {
  logo: 'M4 4h16v11h-9l-5 5v-5H4z',
  gauge: 'M4 18a8 8 0 1 1 16 0M12 18l4-6',
  chat: 'M4 5h13v9h-7l-4 3.5V14H4zM20 9v9.5L16.5 16H11',
  bolt: 'M13 3L5 14h6l-1 7 8-11h-6z',
  list: 'M4 6h16M4 12h16M4 18h10',
  spark: 'M12 3l2.2 6.8L21 12l-6.8 2.2L12 21l-2.2-6.8L3 12l6.8-2.2z',
  sheet: 'M6 3h9l4 4v14H6zM9 11h7M9 15h7',
  person: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 21a7.5 7.5 0 0 1 15 0',
  horn: 'M4 10v4h3l9 5V5l-9 5zM19 9.5a4 4 0 0 1 0 5M8 14v5h3v-3.4',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5a6.5 6.5 0 0 1 3.5 5.5',
} as const

export type IconName = keyof typeof PATHS

/** A drawing beside a text that says the same. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info'

const STATE_TONES: Record<string, Tone> = {
  ...{ sent: 'good', delivered: 'good', read: 'good', done: 'good', completed: 'good', accepted: 'good' },
  ...{
    received: 'info',
    handled: 'info',
    sending: 'info',
    active: 'info',
    pending: 'info',
    uncertain: 'warn',
  },
  ...{
    dead: 'bad',
    failed: 'bad',
    unrouted: 'warn',
    permanent: 'bad',
    retryable: 'warn',
    cancelled: 'neutral',
  },
}

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>
}

/** The state of a message, a send, an attempt or a task. */
export const State = ({ of }: { of: string }) => (
  <Badge tone={STATE_TONES[of] ?? 'neutral'}>{wordOf(of)}</Badge>
)

/** A time in the viewer's zone; the exact one on hover. */
export function Time({ at, relative = false }: { at: string | null | undefined; relative?: boolean }) {
  useEveryMinute(relative)
  if (at === null || at === undefined) return <span class="quiet">{t('never')}</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relative ? relativeTime(at) : shortTime(at)}
    </time>
  )
}

function useEveryMinute(active: boolean): void {
  const [, setMinute] = useState(0)
  useEffect(() => {
    if (!active) return
    const timer = setInterval(() => setMinute((before) => before + 1), 30_000)
    return () => clearInterval(timer)
  }, [active])
}

/** The head of a page: its title, and what can be done there. */
export function PageHead(props: {
  title: string
  back?: { href: string; label: string }
  note?: ComponentChildren
  children?: ComponentChildren
  /** Beside something that is the page. */
  isPart?: boolean
}) {
  const { title, back, note, children, isPart = false } = props
  useEffect(() => {
    if (!isPart) setTitle(title)
  }, [title, isPart])
  return (
    <header class="page-head">
      <div class="page-title">
        {back && (
          <a class="back" href={back.href}>
            ← {back.label}
          </a>
        )}
        {isPart ? <h2>{title}</h2> : <h1>{title}</h1>}
        {note && <p class="quiet">{note}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  )
}

export function Card(props: {
  title?: string
  note?: ComponentChildren
  action?: ComponentChildren
  children: ComponentChildren
  flush?: boolean
}) {
  return (
    <section class={props.flush ? 'card flush' : 'card'}>
      {props.title && (
        <div class="card-head">
          <div>
            <h2>{props.title}</h2>
            {props.note && <p class="quiet">{props.note}</p>}
          </div>
          {props.action}
        </div>
      )}
      {props.children}
    </section>
  )
}

/** A placeholder for an empty place: what would be there, and the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="quiet">{children}</div>}
    </div>
  )
}

/** The placeholder for an address without a page, or without one for the caller's role. */
export const NotFound = () => (
  <div class="empty">
    <h1 class="empty-title">{t('There is no such page')}</h1>
    <p class="quiet">
      {rich('It may need rights that your role does not have. <a>Go to the overview</a>', {
        a: (text) => <a href={hrefOf('/')}>{text}</a>,
      })}
    </p>
  </div>
)

/** Placeholder lines while something is loaded for the first time. */
export const Loading = ({ lines = 4 }: { lines?: number }) => (
  <div class="loading" role="status" aria-label={t('Loading')}>
    {Array.from({ length: lines }, (_, at) => (
      <span key={at} class="bone" />
    ))}
  </div>
)

/** An error in words, with its fields. */
export function Failure({ error }: { error: Error | undefined }) {
  if (error === undefined) return null
  const fields = fieldsOf(error)
  return (
    <div class="failure" role="alert">
      <p>{messageOf(error)}</p>
      {fields.length > 0 && (
        <ul>
          {fields.map(({ path, message }) => (
            <li key={path + message}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** A pair of term and value in a description list. */
export const Fact = ({ term, children }: { term: string; children: ComponentChildren }) => (
  <div class="fact">
    <dt>{term}</dt>
    <dd>{children}</dd>
  </div>
)

/** JSON, unfolded on demand. */
export const Json = ({ title, value }: { title: string; value: unknown }) => (
  <details class="json">
    <summary>{title}</summary>
    <ScrollRegion as="pre">{JSON.stringify(value, null, 2)}</ScrollRegion>
  </details>
)

/** Links to the parts of a page. */
export function Tabs({
  label,
  tabs,
  at,
}: {
  label: string
  tabs: { href: string; name: string }[]
  at: string
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, name }) => (
        <a key={href} href={href} aria-current={href === at ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}
