import { useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Failure, Loading, Time } from '../components/basics.tsx'
import type { Change } from '../deleted.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import { type Finding, restoreDocument } from '../resources.ts'
import { may } from '../rights.ts'
import { wordOf } from '../words.ts'

/** The problems that `/rest/check` finds in one document. */
export function Findings({ resource, id }: { resource: string; id: number }) {
  const { data } = useLoad('check', (signal) => call<Page<Finding>>('GET', '/rest/check', { signal }), {
    everyMs: 10_000,
  })
  const own = data?.data.filter((one) => one.resource === resource && one._id === id) ?? []
  if (own.length === 0) return null
  return (
    <div class="failure" role="status">
      <ul>
        {own.map(({ path, message, code }) => (
          <li key={path + code}>
            <code>{path}</code> {message}
          </li>
        ))}
      </ul>
    </div>
  )
}

const historyOf = (path: string, id: string, signal: AbortSignal) =>
  call<Page<Change>>('GET', `/rest/${path}/${id}/history`, { signal })

/** The history of a document: who changed it when, and where. */
export function HistoryCard({ path, id, changed }: { path: string; id: string; changed: string }) {
  const [open, setOpen] = useState(false)
  const { data, error } = useLoad(`history ${path} ${id} ${changed} ${open}`, (signal) =>
    open ? historyOf(path, id, signal) : Promise.resolve(undefined),
  )
  return (
    <Card
      title={t('History')}
      action={
        <Button small onClick={() => setOpen(!open)}>
          {open ? t('Hide') : t('Show')}
        </Button>
      }
    >
      <Failure error={error} />
      {open && data && (
        <ol class="timeline">
          {data.data.map(({ version, operation, at, by, changes }) => (
            <li key={version}>
              <span>{wordOf(operation)}</span>
              <Time at={at} />
              <span class="quiet">
                {by.username}
                {changes && changes.length > 0 && ` · ${changes.map((one) => one.path).join(', ')}`}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}

interface AbsentProps {
  path: string
  id: string
  error: Error | undefined
  onRestored(): void
}

/** A placeholder for a document: why it can't be read, and, if it was deleted, how to restore it. */
export function Absent({ path, id, error, onRestored }: AbsentProps) {
  if (error === undefined) return <Loading />
  return (
    <>
      <Failure error={error} />
      {isGone(error) && <Deleted {...{ path, id, onRestored }} />}
    </>
  )
}

const LATE_MS = 3_000

/** The name of the user who deleted it, for readers of its history; that comes a moment after. */
function Deleted({ path, id, onRestored }: Omit<AbsentProps, 'error'>) {
  const { data } = useLoad(`deleted ${path} ${id}`, (signal) => historyOf(path, id, signal), {
    everyMs: LATE_MS,
  })
  const latest = data?.data[0]
  if (latest?.operation !== 'deleted') return null
  const bringBack = async () => {
    await restoreDocument(path, id, latest)
    notify(t('Restored.'))
    onRestored()
  }
  return (
    <>
      <Card>
        <p>
          {rich('{name} deleted it {time}.', { name: latest.by.username, time: <Time at={latest.at} /> })}
        </p>
        {may('write', path) && (
          <div class="actions">
            <Button onClick={bringBack}>{t('Restore')}</Button>
          </div>
        )}
      </Card>
      <HistoryCard {...{ path, id }} changed={latest.at} />
    </>
  )
}
