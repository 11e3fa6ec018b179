import { loadLanguage } from './language.ts'
import './styles.css'
import 'uplot/dist/uPlot.min.css'

await loadLanguage()
;(await import('./start.ts')).start()
