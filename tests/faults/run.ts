// Faults under load, and after each the count of what arrived.
//   npm run test:faults                      every fault once, then a few random ones
//   npm run test:faults -- 'kill -9' redis   only those whose name has one of these, and no random ones
//   TOGETHER=true npm run test:faults        one process for all services; also with the others
//   npm run test:faults -- events            outgoing events, through kills of all that they pass
await import(process.argv[2] === 'events' ? './events-run.ts' : './every-fault.ts')
