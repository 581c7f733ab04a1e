import { testFaults } from './short.ts'

testFaults('nats', ['route-cut', 'partition-server', 'quorum', 'crash'])
