import type { Schemas } from '@parley/client'
import { providerNamed } from '@parley/shared/providers/registry'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Card, Failure, Loading } from '../components/basics.tsx'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Document } from '../resources.ts'
import type { Hook } from './channel-hook.tsx'

type Check = Schemas['ChannelTest']['checks'][number]

const NAMES: Readonly<Record<string, string>> = {
  'access token': t('Access token'),
  ...{ number: t('Number'), subscription: t('Subscription'), webhook: t('Webhook'), channel: t('Channel') },
}
const TONES = { ok: 'good', bad: 'bad', unknown: 'warn' } as const
const RESULTS = { ok: t('fine'), bad: t('to mend'), unknown: t('not checked') }

/** The provider's answers about a channel and the state of its webhook: each is fine, or says what is wrong. */
export function ChannelCheck({
  channel,
  hook,
  step,
}: {
  channel: Document
  hook: Hook | undefined
  step: number
}) {
  const path = `/rest/channels/${channel._id}/test`
  const { data, error, reload } = useLoad(`${path} ${channel.updatedAt}`, (signal) =>
    call<Schemas['ChannelTest']>('POST', path, { body: {}, signal }),
  )
  const checks = data && [...data.checks, ...(hook ? webhookOf(hook) : [])]
  return (
    <Card
      title={t('{step}. Check', { step })}
      action={
        <Button small onClick={reload}>
          {t('Check again')}
        </Button>
      }
    >
      <Failure error={error} />
      {checks === undefined && !error && <Loading lines={3} />}
      <ul class="rows" aria-label={t('What was checked')}>
        {checks?.map(({ check, result, text }) => (
          <li key={check}>
            <div class="grow">
              <p class="line">
                <strong>{NAMES[check] ?? check}</strong> <Badge tone={TONES[result]}>{RESULTS[result]}</Badge>
              </p>
              <p class="note">{translated(text)}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Nothing for a channel that no provider posts to. */
function webhookOf({ channel, url, problems, handshake, lastReceivedAt, lastError }: Hook): Check[] {
  const receiving = providerNamed(channel.hook)?.description.receiving
  if (receiving === undefined) return []
  const found = (result: Check['result'], text: string) => [{ check: 'webhook', result, text }]
  if (problems.length > 0 || url === null) return found('bad', problems.map(translated).join(' '))
  if (lastError !== null && lastError.at > (lastReceivedAt ?? '')) return found('bad', lastError.message)
  if (lastReceivedAt !== null) return found('ok', t('The provider posts to it.'))
  if (!receiving.hasHandshake) return found('unknown', t('Nothing has come yet.'))
  if (handshake.succeeded) return found('ok', t('The provider has verified its address.'))
  return found('unknown', t('The provider has not verified its address yet.'))
}
