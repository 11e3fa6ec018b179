import { Card, Empty, Json, Time } from '../components/basics.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'

interface Notice {
  _id: string
  field: string
  at: string | null
  text: string
  value: unknown
  receivedAt: string
}

/** What happened to a channel at its provider, the latest first. */
export function NoticesCard({ id }: { id: string }) {
  const list = useList<Notice>(`/rest/channels/${id}/notices`, {}, { everyMs: 10_000 })
  const columns: Column<Notice>[] = [
    { name: 'What', cell: ({ field }) => <code>{field}</code> },
    { name: 'Says', cell: ({ text }) => text },
    { name: 'At', wide: true, cell: ({ at, receivedAt }) => <Time at={at ?? receivedAt} relative /> },
    { name: 'All of it', wide: true, cell: ({ value }) => <Json title="Look" value={value} /> },
  ]
  return (
    <Card title="Notices" flush>
      <Table
        {...{ label: 'Notices', columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        empty={<Empty title="Nothing happened to it at its provider yet" />}
      />
      <More list={list} />
    </Card>
  )
}
