import { afterEach } from '@jest/globals'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { type AgentBehaviour, AgentSystem } from './agent-system.ts'

/** A database for the tests of a file, and systems that are closed after each test. */
export function agentLine() {
  const database = dispatcherDatabase({ partitions: 1 })
  let number = 0
  const open: AgentSystem[] = []
  const line = {
    get collections() {
      return database.collections
    },
    start(behaviour: AgentBehaviour): AgentSystem {
      const system = new AgentSystem({ number: ++number, collections: line.collections, ...behaviour })
      open.push(system)
      return system
    },
  }
  afterEach(async () => {
    await Promise.all(open.splice(0).map((system) => system.close()))
  })
  return line
}
