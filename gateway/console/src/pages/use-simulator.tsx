import { call, type Page } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { t } from '../language.ts'
import type { Document } from '../resources.ts'
import { may } from '../rights.ts'
import { navigate } from '../router.ts'
import { simulatedChannel, simulatorUrl } from '../simulator.ts'

/** Makes a channel on the simulator, which the first assistant answers where there is one, and goes to its test. */
export function UseSimulator() {
  const make = async () => {
    const url = simulatorUrl()
    if (url === undefined) return
    const first = may('read', 'assistant')
      ? await call<Page<Document>>('GET', '/rest/assistant', { query: { limit: 1 } })
      : undefined
    const assistantId = first?.data[0]?._id
    const body = simulatedChannel(url, {
      ...{ name: t('Simulator'), extId: `simulator-${crypto.randomUUID().slice(0, 4)}` },
      handlerUrl: assistantId === undefined ? 'native:agents/echo' : 'native:agents/taskManager',
      config: assistantId === undefined ? {} : { assistantId },
    })
    const { _id } = await call<Document>('POST', '/rest/channels', { body })
    navigate(`/channels/${_id}/connect`)
  }
  return <Button onClick={make}>{t('Use the simulator')}</Button>
}
