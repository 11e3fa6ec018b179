import { providerNamed } from '@parley/shared/providers/registry'
import { call, listAll, type Page } from '../api.ts'
import { DeleteButton, LinkButton, notify, notifyUndoable } from '../components/actions.tsx'
import { Badge, Card, Empty, Json, PageHead, Time } from '../components/basics.tsx'
import { useEdits } from '../components/edits.ts'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { SchemaForm } from '../components/schema-form.tsx'
import { byPath } from '../components/screens.tsx'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import {
  CHANNEL_REFERENCES,
  type Document,
  deleteDocument,
  type Finding,
  ON_DELETE,
  patchDocument,
  readDocument,
  replaceDocument,
  titleOf,
  type Version,
} from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { type Hook, HookCard, hookOf } from './channel-hook.tsx'
import { ChannelSecrets } from './channel-secrets.tsx'
import { ChannelWizard } from './channel-wizard.tsx'
import { Absent, Findings, HistoryCard } from './document-cards.tsx'

/** Where messages come in and go out. */
export const ChannelsPage = byPath('/channels', {
  '': ChannelList,
  new: () => <ChannelWizard />,
  ':id': ({ rest: [id = ''] }) => <ChannelPage key={id} id={id} />,
  ':id/connect': ({ rest: [id = ''] }) => <ChannelWizard key={id} id={id} />,
})

function ChannelList() {
  const list = useList<Document>('/rest/channels')
  const hooks = useLoad('hooks', () => listAll<Hook>('/rest/hooks'), { everyMs: 5_000 })
  const check = useLoad('check', (signal) => call<Page<Finding>>('GET', '/rest/check', { signal }), {
    everyMs: 15_000,
  })
  const hookOf = (id: number) => hooks.data?.find(({ channel }) => channel._id === id)
  const problemsOf = (id: number) => [
    ...(hookOf(id)?.problems ?? []).map(translated),
    ...(check.data?.data ?? [])
      .filter((one) => one.resource === 'channels' && one._id === id)
      .map(({ message }) => message),
  ]
  const columns: Column<Document>[] = [
    { name: t('Name'), cell: titleOf },
    { name: t('External id'), wide: true, cell: ({ extId }) => <code>{extId}</code> },
    { name: t('In'), wide: true, cell: ({ hook }) => String(hook) },
    { name: t('Out'), wide: true, cell: ({ callback }) => String(callback) },
    {
      name: t('Problems'),
      cell: ({ _id }) => {
        const problems = problemsOf(_id)
        if (hooks.data === undefined) return ''
        if (problems.length === 0) return <Badge tone="good">{t('none')}</Badge>
        return (
          <span title={problems.join('\n')}>
            <Badge tone="warn">{String(problems.length)}</Badge> <span class="quiet">{problems[0]}</span>
          </span>
        )
      },
    },
    {
      name: t('Last from the provider'),
      wide: true,
      cell: ({ _id }) => <Time at={hookOf(_id)?.lastReceivedAt} relative />,
    },
  ]
  const writable = may('write', 'channels')
  return (
    <>
      <PageHead title={t('Channels')} note={t('Where messages come in and go out')}>
        {writable && (
          <LinkButton kind="primary" href={hrefOf('/channels/new')}>
            {t('Connect a channel')}
          </LinkButton>
        )}
      </PageHead>
      <Table
        {...{ label: t('Channels'), columns, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/channels/${_id}`)}
        empty={
          <Empty title={t('No channels yet')}>
            {writable ? (
              <a href={hrefOf('/channels/new')}>{t('Connect the first one')}</a>
            ) : (
              t('Ask an admin to connect one.')
            )}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}

function ChannelPage({ id }: { id: string }) {
  const back = { href: hrefOf('/channels'), label: t('Channels') }
  const {
    data: read,
    error,
    reload,
    put,
  } = useLoad(`channel ${id}`, (signal) => readDocument('channels', id, signal))
  const hook = useLoad(`hook ${id}`, () => hookOf(Number(id)), { everyMs: 3_000 })
  const edits = useEdits()
  if (read === undefined || isGone(error))
    return (
      <>
        <PageHead title={t('Channel')} back={back} />
        <Absent path="channels" id={id} error={error} onRestored={reload} />
      </>
    )
  const { data } = read
  const writable = may('write', 'channels')
  const save = async (body: object, over: Version<unknown>) => {
    const saved = await replaceDocument('channels', id, { body, over })
    put(saved)
    notify(t('Saved.'))
    return saved
  }
  const changeConfig = async (part: object) => {
    try {
      const changed = await patchDocument('channels', id, { body: { config: part }, over: read })
      edits.rebase({ from: read, to: changed, field: 'config', part })
      put(changed)
    } catch (error) {
      reload()
      throw error
    }
  }
  const remove = async () => {
    const putBack = await deleteDocument('channels', data)
    notifyUndoable(t('{title} was deleted.', { title: titleOf(data) }), async () => {
      await putBack()
      notify(t('{title} is back.', { title: titleOf(data) }))
      navigate(`/channels/${data._id}`)
    })
    navigate('/channels')
  }
  return (
    <>
      <PageHead title={titleOf(data)} back={back} note={<code>{data.extId}</code>}>
        {may('read', 'messages') && (
          <LinkButton href={hrefOf(`/messages?channel=${encodeURIComponent(data.extId ?? '')}`)}>
            {t('Messages')}
          </LinkButton>
        )}
        {writable && (
          <DeleteButton
            what={t('channel {title}', { title: titleOf(data) })}
            note={ON_DELETE}
            onDelete={remove}
          />
        )}
      </PageHead>
      <Findings resource="channels" id={data._id} />
      {hook.data && <HookCard hook={hook.data} config={(data.config ?? {}) as Record<string, unknown>} />}
      {writable && <ChannelSecrets channel={data} hook={hook.data} onChange={changeConfig} />}
      <Card title={t('Settings')}>
        <SchemaForm
          {...{ schema: 'ChannelBody', read, edits, references: CHANNEL_REFERENCES, action: t('Save') }}
          onReload={reload}
          {...(writable ? { onSave: save } : {})}
        />
      </Card>
      {providerNamed(data.hook)?.inbound && <NoticesCard id={id} />}
      <HistoryCard path="channels" id={id} changed={data.updatedAt} />
    </>
  )
}

interface Notice {
  _id: string
  field: string
  at: string | null
  text: string
  value: unknown
  receivedAt: string
}

/** The provider's notices about a channel, the latest first. */
function NoticesCard({ id }: { id: string }) {
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
