import type { Schemas } from '@parley/client'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Card, Failure, Json, Loading } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { may } from '../rights.ts'
import { MissingTools } from './missing-tools.tsx'

/** The prompt that the model is given; for one thread where that is asked. */
export function AssistantPrompt({ id, changed }: { id: number; changed: string }) {
  const [open, setOpen] = useState(false)
  return (
    <Card
      title={t('Prompt')}
      note={t('What the model is given, secrets masked')}
      action={
        <Button
          small
          label={open ? t('Hide the prompt') : t('Show the prompt')}
          onClick={() => setOpen(!open)}
        >
          {open ? t('Hide') : t('Show')}
        </Button>
      }
    >
      {open && <Prompt key={changed} id={id} />}
    </Card>
  )
}

function Prompt({ id }: { id: number }) {
  const [thread, setThread] = useState('')
  const [asked, setAsked] = useState('')
  const { data, error } = useLoad(`prompt ${id} ${asked}`, (signal) => {
    const body = asked === '' ? {} : { thread: asked }
    return call<Schemas['Prompt']>('POST', `/rest/assistant/${id}/prompt`, { body, signal })
  })
  const ask = (event: Event) => {
    event.preventDefault()
    setAsked(thread.trim())
  }
  return (
    <>
      {may('read', 'messages') && may('read', 'tasks') && (
        <form class="inline" onSubmit={ask} data-passing>
          <TextField
            label={t('For the thread')}
            note={t('Its person, channel, task and conversation are in it then')}
            value={thread}
            onChange={setThread}
            required={false}
          />
          <Button type="submit">{t('Show')}</Button>
        </form>
      )}
      <Failure error={error} />
      {data === undefined && !error && <Loading />}
      {data && (
        <>
          <p class="line">
            <Badge tone="info">{data.type}</Badge>
          </p>
          <ScrollRegion as="pre" class="prompt">
            {data.system}
          </ScrollRegion>
          <Json title={t('Given as data')} value={data.data} />
          {data.conversation.length > 0 && <Json title={t('Conversation')} value={data.conversation} />}
          <Json title={t('Tools ({count})', { count: data.tools.length })} value={data.tools} />
          <MissingTools notes={data.notes} />
        </>
      )}
    </>
  )
}
