// Everything on this machine, in the foreground: npm start [-- --processes]
import { parseArgs } from 'node:util'
import { runInForeground } from './foreground.ts'

const { processes } = parseArgs({ options: { processes: { type: 'boolean' } } }).values
await runInForeground({ together: processes !== true })
