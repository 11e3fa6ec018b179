// Everything on this machine, in the foreground: npm start
import { runInForeground } from './foreground.ts'

await runInForeground()
