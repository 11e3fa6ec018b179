import { Card, Empty, Json, Time } from '../components/basics.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { t } from '../language.ts'

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
    { name: t('What'), cell: ({ field }) => <code>{field}</code> },
    { name: t('Says'), cell: ({ text }) => text },
    { name: t('At'), wide: true, cell: ({ at, receivedAt }) => <Time at={at ?? receivedAt} relative /> },
    { name: t('All of it'), wide: true, cell: ({ value }) => <Json title={t('Look')} value={value} /> },
  ]
  return (
    <Card title={t('Notices')} flush>
      <Table
        {...{ label: t('Notices'), columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        empty={<Empty title={t('Nothing happened to it at its provider yet')} />}
      />
      <More list={list} />
    </Card>
  )
}
