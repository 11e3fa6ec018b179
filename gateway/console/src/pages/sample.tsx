import { useState } from 'preact/hooks'
import { Button, DeleteButton, notify } from '../components/actions.tsx'
import { Card } from '../components/basics.tsx'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { mayAll } from '../rights.ts'
import { sampleRecord } from '../sample/sample-record.ts'

/** All that sample data consist of, and take to be removed. */
const RESOURCES = [
  ...['actions', 'steps', 'workflows', 'jobs', 'assistant', 'channels', 'configs'],
  ...['messages', 'threads', 'people'],
]

const sampleData = () => import('../sample/sample-data.ts')

const mayHave = (): boolean => RESOURCES.every((one) => mayAll('write', one) && mayAll('read', one))

/** Makes sample data on the simulator at `url`. */
export function SampleButton({ url }: { url: string }) {
  const [isMaking, setMaking] = useState(false)
  if (!mayHave()) return null
  const make = async () => {
    setMaking(true)
    try {
      const { phones, messages } = await (await sampleData()).makeSample(url)
      notify(
        t(
          'Made: an assistant with a tool and a workflow, a channel, {people} people and {messages} messages.',
          {
            people: phones.length,
            messages,
          },
        ),
      )
    } finally {
      setMaking(false)
    }
  }
  return (
    <>
      <Button onClick={make}>{t('Show me with sample data')}</Button>
      {isMaking && <span role="status">{t('It is made …')}</span>}
    </>
  )
}

/** Says that there are sample data, and removes them; nothing where there are none. */
export function SampleCard() {
  const isAsked = mayHave()
  const { data, reload } = useLoad(`sample ${isAsked}`, (signal) =>
    isAsked ? sampleRecord(signal) : Promise.resolve(undefined),
  )
  if (data === undefined) return null
  const remove = async () => {
    await (await sampleData()).removeSample(data.value)
    notify(t('The sample data are gone.'))
    reload()
  }
  return (
    <Card
      title={t('Sample data')}
      action={
        <DeleteButton
          action={t('Remove')}
          what={t('the sample data')}
          note={t(
            'Its people are erased with what they said, and its documents are deleted, also where you changed them.',
          )}
          onDelete={remove}
        />
      }
    >
      <p>
        {t(
          'This workspace has a shop to look at: an assistant, a channel on the simulator, and {people} invented people.',
          {
            people: data.value.phones.length,
          },
        )}
      </p>
    </Card>
  )
}
