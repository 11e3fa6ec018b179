import type { Schemas } from '@parley/client'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Card } from '../components/basics.tsx'
import { connectAction } from '../connecting.ts'
import { count } from '../format.ts'
import { t } from '../language.ts'
import { may } from '../rights.ts'
import { wordOf } from '../words.ts'
import { MissingTools } from './missing-tools.tsx'

/** Tries what an action calls, and connects it where its credentials ask for somebody's consent. */
export function ActionServer({ id }: { id: number }) {
  const [tested, setTested] = useState<Schemas['ActionTest']>()
  const test = async () =>
    setTested(await call<Schemas['ActionTest']>('POST', `/rest/actions/${id}/test`, { patient: true }))
  return (
    <Card
      title={t('Connection')}
      note={t('Whether its tools are there. No tool is called')}
      action={
        <div class="actions">
          <Button small onClick={test}>
            {t('Test connection')}
          </Button>
          {may('write', 'configs') && (
            <Button small onClick={() => connectAction(id, `/assistants/actions/${id}`)}>
              {t('Connect with OAuth')}
            </Button>
          )}
        </div>
      }
    >
      {tested && <ActionTested test={tested} />}
    </Card>
  )
}

/** The result of a test: whether the tools are there, which, and what is missing. */
export function ActionTested({ test: { state, tools, ms, notes } }: { test: Schemas['ActionTest'] }) {
  return (
    <div role="status">
      <p class="line">
        <Badge tone={state === 'working' ? 'good' : 'bad'}>{wordOf(state)}</Badge>
        {t('{count, plural, one {# tool} other {# tools}} in {ms} ms', {
          count: tools.length,
          ms: count(ms),
        })}
      </p>
      <MissingTools notes={notes} />
      <p class="note">{tools.map(({ name }) => name).join(', ')}</p>
    </div>
  )
}
