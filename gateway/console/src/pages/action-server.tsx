import type { Schemas } from '@parley/client'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Card } from '../components/basics.tsx'
import { count } from '../format.ts'
import { t } from '../language.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { wordOf } from '../words.ts'
import { MissingTools } from './missing-tools.tsx'

/** Where a browser comes back to when somebody gave consent. */
const CONNECTED = '/connected'

/** Tries what an action calls, and connects it where its credentials ask for somebody's consent. */
export function ActionServer({ id }: { id: number }) {
  const [tested, setTested] = useState<Schemas['ActionTest']>()
  const test = async () =>
    setTested(await call<Schemas['ActionTest']>('POST', `/rest/actions/${id}/test`, { patient: true }))
  const connect = async () => {
    const body = { redirectUri: location.origin + hrefOf(CONNECTED) }
    const begun = await call<Schemas['Connection']>('POST', `/rest/actions/${id}/connect`, { body })
    location.assign(begun.authorizationUrl)
  }
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
            <Button small onClick={connect}>
              {t('Connect with OAuth')}
            </Button>
          )}
        </div>
      }
    >
      {tested && (
        <div role="status">
          <p class="line">
            <Badge tone={tested.state === 'working' ? 'good' : 'bad'}>{wordOf(tested.state)}</Badge>
            {t('{count, plural, one {# tool} other {# tools}} in {ms} ms', {
              count: tested.tools.length,
              ms: count(tested.ms),
            })}
          </p>
          <MissingTools notes={tested.notes} />
          <p class="note">{tested.tools.map(({ name }) => name).join(', ')}</p>
        </div>
      )}
    </Card>
  )
}
