import { KINDS } from '@parley/shared/configuration-resources'
import { useState } from 'preact/hooks'
import { listAll } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Time } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { csvOf, download } from '../download.ts'
import { localTime, numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { type Names, names } from '../people.ts'
import { hrefOfFinding } from '../resources.ts'
import { hrefOf, setQuery } from '../router.ts'
import { resourceInWords, wordOf } from '../words.ts'

interface AuditEntry {
  _id: number
  at: string
  account: number
  token?: number
  name?: string
  address?: string
  requestId?: string
  outcome: string
  times: number
  path?: string
  action: string
  resource: string
  document: number
  details: Record<string, unknown>
  changes?: { field: string; before: string; after: string }[]
}

const FILTERS = ['account', 'action', 'resource', 'outcome', 'since', 'until'] as const
type Filter = Partial<Record<(typeof FILTERS)[number], string>>

const ACTIONS = [
  ...['login', 'create', 'update', 'delete', 'read', 'take-over', 'give-back', 'replay', 'import'],
  ...['schedule', 'unschedule', 'pause', 'resume', 'cancel', 'accept'],
  ...['forgot-password', 'make-password-link', 'reset-password'],
]
const RESOURCES = [
  ...[
    'users',
    'roles',
    'teams',
    'tokens',
    'invitations',
    'workspaces',
    'channels',
    'assistant',
    'actions',
    'jobs',
  ],
  ...['configs', 'workflows', 'steps', 'tasks', 'subscriptions', 'replies', 'threads', 'messages', 'people'],
  ...['segments', 'templates', 'campaigns', 'audit', 'usage'],
]

/** The audit log, the latest entry first. */
export function AuditLog({ query }: { query: URLSearchParams }) {
  const filter: Filter = {}
  for (const name of FILTERS) {
    const value = query.get(name)
    if (value) filter[name] = value
  }
  const list = useList<AuditEntry>('/rest/audit', { ...filter })
  const { data } = useLoad('names', names)
  return (
    <>
      <Filters filter={filter} known={data} />
      <Card flush>
        <Table
          {...{ label: t('Audit log'), columns: columnsFor(data), rows: list.rows, error: list.error }}
          keyOf={({ _id }) => _id}
          empty={<Empty title={t('Nothing was done that matches')} />}
        />
        <More list={list} />
      </Card>
    </>
  )
}

const columnsFor = (known: Names | undefined): Column<AuditEntry>[] => [
  { name: t('At'), cell: ({ at }) => <Time at={at} /> },
  {
    name: t('Who'),
    cell: (entry) => (
      <span class="cut">
        {whoOf(entry, known)}
        {entry.token !== undefined && ` ${t('by token {token}', { token: entry.token })}`}
        {entry.address && <span class="quiet"> · {entry.address}</span>}
      </span>
    ),
  },
  {
    name: t('What'),
    cell: (entry) => (
      <span class="cut" title={entry.path}>
        {hasPage(entry) ? (
          <a href={hrefOf(hrefOfFinding({ ...entry, _id: entry.document }))}>{whatOf(entry)}</a>
        ) : (
          whatOf(entry)
        )}
      </span>
    ),
  },
  { name: t('Outcome'), cell: ({ outcome }) => wordOf(outcome) },
  { name: t('Changes'), wide: true, cell: (entry) => <span class="cut">{changesOf(entry)}</span> },
]

const whoOf = ({ account, name }: AuditEntry, known: Names | undefined): string =>
  known?.users.get(account) ?? name ?? numbered(account)

/** A document of the configuration; one that was deleted can be restored there. */
const hasPage = ({ resource, document }: AuditEntry): boolean => resource in KINDS && document !== 0

function whatOf({ action, resource, document, times }: AuditEntry): string {
  const what =
    document === 0 ? resourceInWords(resource) : `${resourceInWords(resource)} ${numbered(document)}`
  return `${what}: ${wordOf(action)}${times > 1 ? ` × ${times}` : ''}`
}

/** Returns the changes of an entry, field by field; of entries without changes, the details of the act. */
function changesOf({ changes = [], details }: AuditEntry): string {
  if (changes.length > 0)
    return changes
      .map(({ field, before, after }) => `${field}: ${before || '–'} → ${after || '–'}`)
      .join('; ')
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('; ')
}

function Filters({ filter, known }: { filter: Filter; known: Names | undefined }) {
  return (
    <search class="filters">
      <SelectField
        label={t('Who')}
        value={filter.account ?? ''}
        options={[
          { value: '', name: t('Anybody') },
          ...[...(known?.users ?? [])].map(([id, name]) => ({ value: String(id), name })),
        ]}
        onChange={(account) => setQuery({ account })}
      />
      <SelectField
        label={t('Action')}
        value={filter.action ?? ''}
        options={[{ value: '', name: t('Any') }, ...ACTIONS.map((value) => ({ value, name: wordOf(value) }))]}
        onChange={(action) => setQuery({ action })}
      />
      <SelectField
        label={t('Resource')}
        value={filter.resource ?? ''}
        options={[
          { value: '', name: t('Any') },
          ...RESOURCES.map((value) => ({ value, name: resourceInWords(value) })),
        ]}
        onChange={(resource) => setQuery({ resource })}
      />
      <SelectField
        label={t('Outcome')}
        value={filter.outcome ?? ''}
        options={[
          { value: '', name: t('Any') },
          ...['done', 'refused'].map((value) => ({ value, name: wordOf(value) })),
        ]}
        onChange={(outcome) => setQuery({ outcome })}
      />
      {(['since', 'until'] as const).map((name) => (
        <TextField
          key={name}
          label={name === 'since' ? t('From') : t('Until')}
          type="datetime-local"
          value={localTime(filter[name])}
          onChange={(value) => setQuery({ [name]: value === '' ? '' : new Date(value).toISOString() })}
        />
      ))}
      <Export filter={filter} known={known} />
    </search>
  )
}

const MOST_EXPORTED = 10_000

/** The latest 10,000 entries that the filter selects, as a file for a spreadsheet. */
function Export({ filter, known }: { filter: Filter; known: Names | undefined }) {
  const [isLoading, setLoading] = useState(false)
  const save = async () => {
    setLoading(true)
    try {
      const query = { ...filter }
      const found = await listAll<AuditEntry>('/rest/audit', { limit: MOST_EXPORTED, query })
      download(
        'audit-log.csv',
        asCsv(found, (entry) => whoOf(entry, known)),
      )
      if (found.length === MOST_EXPORTED) notify(t('The latest 10,000 entries were exported.'))
    } finally {
      setLoading(false)
    }
  }
  return (
    <Button onClick={save} disabled={isLoading}>
      {t('Export')}
    </Button>
  )
}

const COLUMNS = [
  '_id',
  'at',
  'account',
  'token',
  'address',
  'outcome',
  'times',
  'action',
  'resource',
] as const

function asCsv(entries: readonly AuditEntry[], who: (entry: AuditEntry) => string): string {
  const rows = entries.map((entry) => [
    ...COLUMNS.map((name) => entry[name]),
    ...[entry.document, entry.path, entry.requestId, who(entry), changesOf(entry)],
  ])
  const head = [...COLUMNS, 'document', 'path', 'requestId', 'name', 'changes']
  return csvOf([head, ...rows])
}
