import { callTagged } from '../api.ts'
import { DeleteButton, LinkButton, notify, notifyUndoable } from '../components/actions.tsx'
import { Card, Empty, NotFound, PageHead, State, Tabs, Time } from '../components/basics.tsx'
import { useEdits } from '../components/edits.ts'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { SchemaForm } from '../components/schema-form.tsx'
import { byPath } from '../components/screens.tsx'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import {
  type Document,
  deleteDocument,
  ON_DELETE,
  RESOURCES,
  readDocument,
  replaceDocument,
  titleOf,
  type Version,
} from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate, type PageProps } from '../router.ts'
import { wordOf } from '../words.ts'
import { ActionServer } from './action-server.tsx'
import { AssistantPrompt } from './assistant-prompt.tsx'
import { AssistantSetupPage } from './assistant-setup.tsx'
import { Absent, Findings, HistoryCard } from './document-cards.tsx'
import { Operations } from './operations.tsx'
import { TryAssistant } from './try-assistant.tsx'
import { WorkflowGraph } from './workflow-graph.tsx'

/** The configuration of what the assistants do: lists of its resources, and a form for each document. */
export const AssistantsPage = byPath('/assistants', {
  '': Configuration,
  new: Configuration,
  ':resource': Configuration,
  ':resource/:id': Configuration,
})

function Configuration({ rest: [path, id] }: PageProps) {
  const readable = RESOURCES.filter((one) => may('read', one.path))
  if (readable.length === 0) return <Empty title={t('Your role can’t read assistants')} />
  // The same page once it is saved: what was tried there stays.
  if (path === 'new' && may('write', 'assistant')) return <AssistantSetupPage id={undefined} />
  if (id === undefined && path !== undefined && ID.test(path) && may('read', 'assistant'))
    return <AssistantSetupPage id={Number(path)} />
  const resource = path === undefined ? readable[0] : readable.find((one) => one.path === path)
  if (resource === undefined) return <NotFound />
  if (id !== undefined) return <DocumentPage key={`${resource.path} ${id}`} resource={resource} id={id} />
  const tabs = readable.map((one) => ({ href: hrefOf(`/assistants/${one.path}`), name: one.many }))
  return (
    <>
      <PageHead title={resource.many} note={resource.about}>
        {may('write', resource.path) && (
          <LinkButton kind="primary" href={pageOf(resource, 'new')}>
            {resource.create}
          </LinkButton>
        )}
      </PageHead>
      <Tabs label={t('Resources')} tabs={tabs} at={hrefOf(`/assistants/${resource.path}`)} />
      <DocumentList key={resource.path} resource={resource} />
    </>
  )
}

type Resource = (typeof RESOURCES)[number]

/** As in the address of an assistant's own page. */
const ID = /^\d{1,16}$/

/** Where a document is made, and where it is changed: an assistant on one page with what it is made of. */
const pageOf = ({ path }: Resource, id: number | 'new'): string =>
  hrefOf(path === 'assistant' ? `/assistants/${id}` : `/assistants/${path}/${id}`)

const LIST_COLUMNS: Record<string, Column<Document>[]> = {
  tasks: [
    { name: t('State'), cell: ({ status }) => <State of={String(status)} /> },
    { name: t('Thread'), wide: true, cell: ({ extId }) => <span class="cut">{extId}</span> },
  ],
  configs: [
    { name: t('Owner'), wide: true, cell: ({ ownerType, owner }) => `${wordOf(String(ownerType))} ${owner}` },
  ],
}

function DocumentList({ resource }: { resource: Resource }) {
  const list = useList<Document>(`/rest/${resource.path}`)
  const columns: Column<Document>[] = [
    { name: t('Name'), cell: titleOf },
    ...(LIST_COLUMNS[resource.path] ?? [
      {
        name: t('Description'),
        wide: true,
        cell: ({ description }: Document) => <span class="quiet cut">{String(description ?? '')}</span>,
      },
    ]),
    { name: t('Changed'), cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
  ]
  return (
    <>
      <Table
        {...{ label: resource.many, columns, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => pageOf(resource, _id)}
        empty={
          <Empty title={resource.none}>
            {may('write', resource.path) && <a href={pageOf(resource, 'new')}>{t('Make the first one')}</a>}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}

const NEW = { data: {}, etag: undefined }

function DocumentPage({ resource, id }: { resource: Resource; id: string }) {
  const { path, one, many } = resource
  const isNew = id === 'new'
  const back = { href: hrefOf(`/assistants/${path}`), label: many }
  const {
    data: read,
    error,
    reload,
    put,
  } = useLoad(`${path} ${id}`, (signal) =>
    isNew ? Promise.resolve(undefined) : readDocument(path, id, signal),
  )
  const edits = useEdits()
  const typed = edits.typed.values
  const writable = may('write', path)
  const create = async (body: object) => {
    const created = await callTagged<Document>('POST', `/rest/${path}`, { body })
    notify(t('{one} {title} is there.', { one, title: titleOf(created.data) }))
    navigate(`/assistants/${path}/${created.data._id}`)
    return created
  }
  if (isNew)
    return (
      <>
        <PageHead title={resource.create} back={back} note={resource.about} />
        {path === 'actions' && typed.spec !== undefined && <Operations document={typed} />}
        <Card>
          <SchemaForm
            {...{
              schema: resource.schema,
              read: NEW,
              edits,
              references: resource.references,
              action: t('Create'),
            }}
            {...(writable ? { onSave: create } : {})}
          />
        </Card>
      </>
    )
  if (read === undefined || isGone(error))
    return (
      <>
        <PageHead title={one} back={back} />
        <Absent path={path} id={id} error={error} onRestored={reload} />
      </>
    )
  const { data } = read
  const change = async (body: object, over: Version<unknown>) => {
    const saved = await replaceDocument(path, id, { body, over })
    put(saved)
    notify(t('Saved.'))
    return saved
  }
  const remove = async () => {
    const putBack = await deleteDocument(path, data)
    notifyUndoable(t('{one} {title} was deleted.', { one, title: titleOf(data) }), async () => {
      await putBack()
      notify(t('{one} {title} is back.', { one, title: titleOf(data) }))
      navigate(`/assistants/${path}/${data._id}`)
    })
    navigate(`/assistants/${path}`)
  }
  return (
    <>
      <PageHead
        title={titleOf(data)}
        back={back}
        note={rich('{one} {id}, changed {time}', {
          one,
          id: data._id,
          time: <Time at={data.updatedAt} relative />,
        })}
      >
        {writable && (
          <DeleteButton what={`${one.toLowerCase()} ${titleOf(data)}`} note={ON_DELETE} onDelete={remove} />
        )}
      </PageHead>
      <Findings resource={path} id={data._id} />
      {path === 'workflows' && <WorkflowGraph workflow={data} />}
      {path === 'assistant' && writable && <TryAssistant id={data._id} name={titleOf(data)} />}
      {path === 'assistant' && <AssistantPrompt id={data._id} changed={data.updatedAt} />}
      {path === 'actions' && writable && <ActionServer id={data._id} />}
      {path === 'actions' && <Operations document={{ ...data, ...typed }} />}
      <Card title={t('Settings')}>
        <SchemaForm
          {...{ schema: resource.schema, read, edits, references: resource.references, action: t('Save') }}
          onReload={reload}
          {...(writable ? { onSave: change } : {})}
        />
      </Card>
      <HistoryCard path={path} id={id} changed={data.updatedAt} />
    </>
  )
}
