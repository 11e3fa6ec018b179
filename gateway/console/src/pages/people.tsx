import type { ComponentType } from 'preact'
import type { PageProps } from '../app.tsx'
import { Empty, NotFound, PageHead, Tabs } from '../components/basics.tsx'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { ApiTokens } from './api-tokens.tsx'
import { AuditLog } from './audit-log.tsx'
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
    name: 'Users',
    reads: 'users',
    note: 'Who can log in, and who is invited',
    section: Users,
  },
  { path: 'roles', name: 'Roles', reads: 'roles', note: 'What users and tokens may do', section: Roles },
  {
    path: 'tokens',
    name: 'API tokens',
    reads: 'tokens',
    note: 'For programs that call the API',
    section: ApiTokens,
  },
  {
    path: 'audit',
    name: 'Audit log',
    reads: 'audit',
    note: 'What was administered, and by whom',
    section: AuditLog,
  },
]

/** Users, roles, API tokens and the audit log. */
export function PeoplePage({ rest: [path, id] }: PageProps) {
  const readable = SECTIONS.filter(({ reads }) => may('read', reads))
  if (readable.length === 0) return <Empty title="Your role can’t read people" />
  const current = path === undefined ? readable[0] : readable.find((one) => one.path === path)
  if (current === undefined) return <NotFound />
  const tabs = readable.map((one) => ({ href: hrefOf(`/people/${one.path}`), name: one.name }))
  const Section = current.section
  return (
    <>
      <PageHead title={current.name} note={current.note} />
      <Tabs label="People" tabs={tabs} at={hrefOf(`/people/${current.path}`)} />
      <Section id={id} />
    </>
  )
}
