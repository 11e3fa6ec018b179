import { buildModelSimulator } from '@parley/local/model-simulator/app'
import { buildSimulator } from '@parley/local/simulator/app'
import { type Listening, listen } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'

/** The system with both simulators, its own model being the simulator's. */
export interface AssistantSystem {
  parley: Parley
  simulatorUrl: string
  modelSimulatorUrl: string
  close(): Promise<void>
}

export async function startAssistantSystem(
  environment: Record<string, string> = {},
): Promise<AssistantSystem> {
  const simulator = await buildSimulator({})
  const whatsapp = await listen(simulator.app)
  const model = await listen(buildModelSimulator())
  const parley = await startParley({
    environment: { dispatcher: { ...modelEnvironment(model), ...environment } },
  })
  return {
    parley,
    simulatorUrl: whatsapp.url,
    modelSimulatorUrl: model.url,
    async close() {
      await parley.close()
      await simulator.close()
      await whatsapp.close()
      await model.close()
    },
  }
}

/** The environment that `npm start` gives a dispatcher for models and private targets. */
export const modelEnvironment = ({ url }: Pick<Listening, 'url'>) => ({
  ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8,::1/128',
  MODEL_PROVIDER: 'openai-compatible',
  MODEL_NAME: 'simulator',
  MODEL_BASE_URL: `${url}/v1`,
  MODEL_API_KEY: 'the-key-of-the-deployment',
  MODEL_REASONING: 'false',
})
