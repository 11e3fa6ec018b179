import { providerNamed } from '@parley/shared/providers/registry'
import { listAll } from '../api.ts'
import { Paste, Secret } from '../components/actions.tsx'
import { Badge, Card, Fact, Time } from '../components/basics.tsx'
import { t, translated } from '../language.ts'

/** Where the provider sends to, what to paste there, and how it goes. */
export function HookCard({ hook, config }: { hook: Hook; config: Record<string, unknown> }) {
  const { url, problems, handshake, lastReceivedAt, lastError, signingSecret } = hook
  const { description, settings = [] } = providerNamed(hook.channel.hook) ?? {}
  const { receiving, operator = description?.label ?? t('the provider') } = description ?? {}
  const pasted = settings.filter(({ isGenerated, neededTo }) => isGenerated && neededTo === 'receive')
  return (
    <Card title={t('Webhook')}>
      {problems.length > 0 && (
        <ul class="failure">
          {problems.map((problem) => (
            <li key={problem}>{translated(problem)}</li>
          ))}
        </ul>
      )}
      <dl class="facts">
        {receiving && url && (
          <Fact term={t('Callback URL, for {operator}', { operator })}>
            <Paste value={url} label={t('the callback URL')} />
            {!isPublic(url) && (
              <p class="note over">
                {t(
                  '{operator} takes only an https address that the internet can reach. Set PUBLIC_URL to that of this gateway, or try with the simulator first.',
                  { operator },
                )}
              </p>
            )}
          </Fact>
        )}
        {pasted.map(({ key, label: named }) => {
          const label = translated(named)
          const value = config[key]
          return (
            typeof value === 'string' && (
              <Fact key={key} term={t('{label}, for {operator}', { label, operator })}>
                <Secret value={value} label={t('the {label}', { label: label.toLowerCase() })} />
              </Fact>
            )
          )
        })}
        {receiving?.hasHandshake && (
          <Fact term={t('Handshake')}>
            {handshake.succeeded ? (
              <>
                <Badge tone="good">{t('done')}</Badge> <Time at={handshake.at} relative />
              </>
            ) : lastReceivedAt === null ? (
              <Badge tone="warn">{t('waiting for {operator}', { operator })}</Badge>
            ) : (
              t('none: it comes by the address of another channel')
            )}
          </Fact>
        )}
        <Fact term={t('Last from {operator}', { operator })}>
          <Time at={lastReceivedAt} relative />
        </Fact>
        {lastError && (
          <Fact term={t('Last error')}>
            {lastError.message} (<Time at={lastError.at} relative />)
          </Fact>
        )}
        {signingSecret?.value && (
          <Fact
            term={signingSecret.source === 'derived' ? t('Signing secret, derived') : t('Signing secret')}
          >
            <Secret value={signingSecret.value} label={t('the signing secret')} />
          </Fact>
        )}
      </dl>
    </Card>
  )
}

const PRIVATE = /^(localhost|127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|\[|[^.]+$)/

/** True if a provider may reach an address, as far as the address shows. */
function isPublic(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && !PRIVATE.test(hostname)
}

/** The webhook of one channel, and how it goes. */
export interface Hook {
  channel: { _id: number; name: string; extId: string; hook: string }
  url: string | null
  setup: { where: string; paste?: string; subscribe?: string[] }[]
  problems: string[]
  handshake: { succeeded: boolean; at: string | null }
  lastReceivedAt: string | null
  lastError: { at: string; code: string; message: string } | null
  signingSecret?: { source: 'channel' | 'derived'; value?: string } | null
}

/** The webhook of a channel. */
export async function hookOf(channel: number): Promise<Hook | undefined> {
  const hooks = await listAll<Hook>('/rest/hooks', { limit: 10_000 })
  return hooks.find((one) => one.channel._id === channel)
}
