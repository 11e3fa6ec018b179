import { readFileSync, writeFileSync } from 'node:fs'
import { writeCatalogues, readCatalogue } from './docs/messages.ts'
await writeCatalogues()
const tr = readFileSync('/tmp/n2-tr.txt','utf8').split('\n').filter(Boolean).map(l=>l.split('|'))
for (const [at,language] of [[1,'pt-BR'],[2,'es']] as const) for (const folder of ['gateway/console/src/languages','shared/src/problem-texts'] as const) {
  const c = readCatalogue(folder, language) as Record<string,string>
  for (const t of tr) { const k=t[0]!.replaceAll('\\\\','\\'); if (k in c && c[k]==='') c[k]=t[at]! }
  console.log(folder, language, Object.entries(c).filter(([,v])=>v==='').map(([k])=>k))
  writeFileSync(`${folder}/${language}.json`, `${JSON.stringify(c, null, 2)}\n`)
}
