import type { ComponentType } from 'preact'
import { Empty, NotFound, PageHead, Tabs } from '../components/basics.tsx'
import { byPath } from '../components/screens.tsx'
import { t } from '../language.ts'
import { may } from '../rights.ts'
import { hrefOf, type PageProps } from '../router.ts'
import { ApiTokens } from './api-tokens.tsx'
import { AuditLog } from './audit-log.tsx'
import { Roles } from './roles.tsx'
import { Teams } from './teams.tsx'
import { Users } from './users.tsx'

interface Section {
  path: string
  name: string
  reads: string
  note: string
  section: ComponentType<{ id: string | undefined; query: URLSearchParams }>
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
    path: 'teams',
    name: t('Teams'),
    reads: 'teams',
    note: t('To whom a conversation can be assigned together'),
    section: Teams,
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
    note: t('Who did what, and who was refused'),
    section: AuditLog,
  },
]

/** Users, roles, teams, API tokens and the audit log. */
export const TeamPage = byPath('/team', { '': Team, 'roles/:id': Team, ':section': Team })

function Team({ rest: [path, id], query }: PageProps) {
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
      <Section id={id} query={query} />
    </>
  )
}
