import type { ComponentType } from 'preact'
import { Card, Empty, NotFound, PageHead, Tabs, Time } from '../components/basics.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { names } from '../people.ts'
import { may } from '../rights.ts'
import { hrefOf, type PageProps } from '../router.ts'
import { resourceInWords, wordOf } from '../words.ts'
import { ApiTokens } from './api-tokens.tsx'
import { Roles } from './roles.tsx'
import { Users } from './users.tsx'

interface Section {
  path: string
  name: string
  reads: string
  note: string
  section: ComponentType<{ id: string | undefined }>
}

const SECTIONS: readonly Section[] = [
  {
    path: 'users',
    name: t('Users'),
    reads: 'users',
    note: t('Who can log in, and who is invited'),
    section: Users,
  },
  {
    path: 'roles',
    name: t('Roles'),
    reads: 'roles',
    note: t('What users and tokens may do'),
    section: Roles,
  },
  {
    path: 'tokens',
    name: t('API tokens'),
    reads: 'tokens',
    note: t('For programs that call the API'),
    section: ApiTokens,
  },
  {
    path: 'audit',
    name: t('Audit log'),
    reads: 'audit',
    note: t('What was administered, and by whom'),
    section: AuditLog,
  },
]

/** Users, roles, API tokens and the audit log. */
export const TeamPage = byPath('/team', { '': Team, 'roles/:id': Team, ':section': Team })

function Team({ rest: [path, id] }: PageProps) {
  const readable = SECTIONS.filter(({ reads }) => may('read', reads))
  if (readable.length === 0) return <Empty title={t('Your role can’t read the team')} />
  const current = path === undefined ? readable[0] : readable.find((one) => one.path === path)
  if (current === undefined) return <NotFound />
  const tabs = readable.map((one) => ({ href: hrefOf(`/team/${one.path}`), name: one.name }))
  const Section = current.section
  return (
    <>
      <PageHead title={current.name} note={current.note} />
      <Tabs label={t('Team')} tabs={tabs} at={hrefOf(`/team/${current.path}`)} />
      <Section id={id} />
    </>
  )
}

interface AuditEntry {
  _id: number
  at: string
  account: number
  token?: number
  action: string
  resource: string
  document: number
  details: Record<string, unknown>
}

/** What was administered, the latest first. */
function AuditLog() {
  const list = useList<AuditEntry>('/rest/audit')
  const { data } = useLoad('names', names)
  const columns: Column<AuditEntry>[] = [
    { name: t('At'), cell: ({ at }) => <Time at={at} /> },
    {
      name: t('Who'),
      cell: ({ account, token }) => (
        <span class="cut">
          {data?.users.get(account) ?? numbered(account)}
          {token !== undefined && ` ${t('by token {token}', { token })}`}
        </span>
      ),
    },
    {
      name: t('What'),
      cell: ({ action, resource, document }) =>
        `${resourceInWords(resource)} ${numbered(document)}: ${wordOf(action)}`,
    },
    {
      name: t('Details'),
      wide: true,
      cell: ({ details }) => (
        <code class="cut">{Object.keys(details).length > 0 && JSON.stringify(details)}</code>
      ),
    },
  ]
  return (
    <Card flush>
      <Table
        {...{ label: t('Audit log'), columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        empty={<Empty title={t('Nothing was administered yet')} />}
      />
      <More list={list} />
    </Card>
  )
}
