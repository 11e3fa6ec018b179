import { useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Card, Failure, Time } from '../components/basics.tsx'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Finding } from '../resources.ts'
import { wordOf } from '../words.ts'

/** What `/rest/check` finds wrong with one document. */
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

interface Change {
  version: number
  operation: string
  at: string
  by: { username: string }
  changes: { path: string }[] | null
}

/** Who changed a document when, and where. */
export function HistoryCard({ path, id, changed }: { path: string; id: string; changed: string }) {
  const [open, setOpen] = useState(false)
  const { data, error } = useLoad(`history ${path} ${id} ${changed} ${open}`, (signal) =>
    open ? call<Page<Change>>('GET', `/rest/${path}/${id}/history`, { signal }) : Promise.resolve(undefined),
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
