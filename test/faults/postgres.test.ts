import { testFaults } from './short.ts'

testFaults('postgres', ['backend-kill', 'crash', 'partition-node', 'partition-server', 'sigstop', 'kill', 'clock'])
