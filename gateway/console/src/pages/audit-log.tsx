import { Card, Empty, Time } from '../components/basics.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useLoad } from '../load.ts'
import { names } from '../people.ts'

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
export function AuditLog() {
  const list = useList<AuditEntry>('/rest/audit')
  const { data } = useLoad('names', names)
  const columns: Column<AuditEntry>[] = [
    { name: 'At', cell: ({ at }) => <Time at={at} /> },
    {
      name: 'Who',
      cell: ({ account, token }) => (
        <span class="cut">
          {data?.users.get(account) ?? `No. ${account}`}
          {token !== undefined && ` by token ${token}`}
        </span>
      ),
    },
    { name: 'What', cell: ({ action, resource, document }) => `${action} ${resource} ${document}` },
    {
      name: 'Details',
      wide: true,
      cell: ({ details }) => (
        <code class="cut">{Object.keys(details).length > 0 && JSON.stringify(details)}</code>
      ),
    },
  ]
  return (
    <Card flush>
      <Table
        {...{ label: 'Audit log', columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        empty={<Empty title="Nothing was administered yet" />}
      />
      <More list={list} />
    </Card>
  )
}
